// Fields of a scenario by the words that the form has for them, where a file has keys.

import { DISPLACEMENT, MATCH, STAGES, stateFields, TRACE, VARIABLE, type Field, type Form } from './forms';

const WAYS: Record<string, string> = { a_to_b: 'a → b', b_to_a: 'b → a' };
const OTHERS: Record<string, string> = {
  trace: 'Trace', timeline_repeat: 'Timeline', every: 'Repeat every', generator: 'Generator', seed: 'Seed', at: 'At', ramp: 'Ramp', match: 'Matches',
  transition: 'Transitions', step: 'Duration unit', initial: 'Initial state', duration: 'Lasts', about: 'About',
};
const LISTS: Record<string, string> = { flow: 'Flow', timeline: 'Step', state: 'State' };

interface Place {
  stage: string;
  form: Form | null;
  fields: Field[];
}

const fieldsOf = (form: Form): Field[] => [...form.models.flatMap((one) => one.fields), ...form.fields];
/** The table within a form that has this key. */
const within = (form: Form | null, key: string): Form | null =>
  form?.groups.find((group) => group.key === key)?.form ?? form?.models.find((one) => one.inner?.key === key)?.inner?.form ?? null;

/** Which words stand for a field, and for a value of it: `a → b › Delay › Fixed part`. */
export function named(path: string): { words: string; value: (text: string | null) => string | null } {
  const words: string[] = [];
  let place: Place = { stage: '', form: null, fields: [] };
  let choices: [string, string][] = [];
  for (const part of path.split('.')) {
    const [, key = part, number] = /^(.*?)(?:\[(\d+)\])?$/.exec(part) ?? [];
    choices = [];
    const stage: Form | undefined = place.form === null && place.fields.length === 0 ? STAGES[key] : undefined;
    const table = within(place.form, key);
    const field = place.fields.find((one) => one.key === key);
    if (number !== undefined && LISTS[key]) {
      words.push(`${LISTS[key]} ${number}`);
      if (key === 'state') {
        // A state of a delay has a distribution of its own, one of a reordering a displacement.
        const groups = place.stage === 'delay' ? [{ key: 'variable', form: VARIABLE }] : place.stage === 'reorder' ? [{ key: 'displacement', form: DISPLACEMENT }] : [];
        place = { ...place, form: { label: '', models: [], fields: [], groups }, fields: stateFields(place.stage) };
      }
    } else if (WAYS[key]) words.push(WAYS[key]);
    else if (stage) {
      words.push(stage.label);
      place = { stage: key, form: stage, fields: fieldsOf(stage) };
    } else if (table) {
      words.push(table.label);
      place = { ...place, form: table, fields: fieldsOf(table) };
    } else if (key === 'model' || (key === 'discipline' && place.form)) {
      words.push('Model');
      choices = (place.form?.models ?? []).map((one) => [one.value, one.label]);
    } else if (field) {
      words.push(field.label);
      choices = field.choices ?? [];
    } else {
      words.push(OTHERS[key] ?? key.replaceAll('_', ' '));
      if (key === 'match') place = { ...place, fields: MATCH };
      else if (key === 'trace') place = { ...place, fields: TRACE };
      else if (key === 'step') choices = [['packets', 'packets'], ['time', 'time']];
    }
  }
  return { words: words.join(' › '), value: (text) => (text === null ? null : (choices.find(([key]) => key === text)?.[1] ?? text)) };
}

/** Words that are names or abbreviations, as they are written. */
const WRITTEN: Record<string, string> = {
  nic: 'NIC', nics: 'NICs', xdp: 'XDP', cpu: 'CPU', bpf: 'BPF', mtu: 'MTU', ntp: 'NTP', ptp: 'PTP', tsc: 'TSC', udp: 'UDP', ip: 'IP', ipv4: 'IPv4', ipv6: 'IPv6', gso: 'GSO', gro: 'GRO', veth: 'veth', irq: 'IRQ', numa: 'NUMA', af: 'AF', rtt: 'RTT',
};
const WHOLE: Record<string, string> = { 'rp-filter': 'Reverse-path filter' };

/** The title of a finding by its code: `nic-stamps` is `NIC stamps`. */
export function title(code: string): string {
  const words = WHOLE[code] ?? code.split('-').map((word) => WRITTEN[word] ?? word).join(' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
