// A benchmark's plan, made of what its form says: the same TOML text that `romer bench PLAN.toml` takes.

export interface Case { name: string; command: string }

export interface PlanForm {
  procedure: string;
  tx: string;
  rx: string;
  source: string;
  destination: string;
  line: string;
  sizes: string;
  imix: string;
  loads: string;
  trial: string;
  repeat: string;
  profile: string;
  discipline: string;
  capacity: string;
  streams: string;
  labels: string;
  cases: Case[];
}

/** The procedures, what they find, and whether loads are theirs to choose. */
export const PROCEDURES: { name: string; words: string; help: string; loads: boolean }[] = [
  { name: 'throughput', words: 'Throughput', help: 'the highest load without loss', loads: false },
  { name: 'load-sweep', words: 'Load sweep', help: 'offered load and forwarded load', loads: true },
  { name: 'latency', words: 'Latency and jitter', help: 'at each load', loads: true },
  { name: 'frame-loss', words: 'Frame loss', help: 'from the line rate downwards', loads: false },
  { name: 'back-to-back', words: 'Back-to-back', help: 'the longest burst without loss', loads: false },
  { name: 'recovery', words: 'Recovery', help: 'time until losses end after an overload', loads: false },
  { name: 'policing', words: 'Policing', help: 'conformance to a token bucket', loads: true },
  { name: 'priority', words: 'Priority', help: 'the share of each class', loads: true },
];

export const FRESH: PlanForm = {
  procedure: 'load-sweep', tx: '', rx: '', source: '', destination: '', line: '100Mbit', sizes: '64, 512, 1518', imix: '', loads: '10%..95%:5%',
  trial: '2s', repeat: '1', profile: '', discipline: '', capacity: '', streams: '', labels: '', cases: [],
};

/** A text as TOML writes it. */
export function quoted(text: string): string {
  const escaped = text.replace(/[\\"]/g, (found) => `\\${found}`).replace(/[\u0000-\u001f\u007f]/g, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return `"${escaped}"`;
}

/** The lines of a field, without empty ones. */
export function lines(text: string): string[] {
  return text.split('\n').map((line) => line.trim()).filter(Boolean);
}

/** The plan of a form. */
export function plan(form: PlanForm): string {
  const out: string[] = [];
  const put = (key: string, value: string) => {
    if (value.trim()) out.push(`${key} = ${quoted(value.trim())}`);
  };
  put('procedure', form.procedure);
  put('tx', form.tx);
  put('rx', form.rx);
  put('source', form.source);
  put('destination', form.destination);
  put('line-rate', form.line);
  if (form.imix.trim()) put('imix', form.imix);
  else put('frame-sizes', form.sizes.replace(/\s+/g, ''));
  if (PROCEDURES.find((one) => one.name === form.procedure)?.loads) put('loads', form.loads.replace(/\s+/g, ''));
  put('trial', form.trial);
  put('repeat', form.repeat);
  if (form.procedure === 'policing') put('profile', form.profile);
  if (form.procedure === 'priority') {
    put('discipline', form.discipline);
    put('capacity', form.capacity);
  }
  for (const stream of lines(form.streams)) {
    out.push('', '[[stream]]');
    for (const part of stream.split(',')) {
      const [key = '', ...rest] = part.split('=');
      out.push(`${key.trim()} = ${quoted(rest.join('=').trim())}`);
    }
  }
  for (const one of form.cases) {
    out.push('', '[[case]]', `name = ${quoted(one.name)}`, `command = ${quoted(one.command)}`);
  }
  const labels = lines(form.labels);
  if (labels.length > 0) out.push('', '[dut]');
  for (const label of labels) {
    const [key = '', ...rest] = label.split('=');
    out.push(`${quoted(key.trim())} = ${quoted(rest.join('=').trim())}`);
  }
  return `${out.join('\n')}\n`;
}

/** The field of the form that a key of the plan comes from. */
const FIELD_OF: Record<string, keyof PlanForm> = {
  procedure: 'procedure', tx: 'tx', rx: 'rx', source: 'source', destination: 'destination', 'line-rate': 'line', 'frame-sizes': 'sizes', imix: 'imix',
  loads: 'loads', trial: 'trial', repeat: 'repeat', profile: 'profile', discipline: 'discipline', capacity: 'capacity', stream: 'streams', case: 'cases', dut: 'labels',
};

/** The field that a fault in the plan of a form is about: by its line, or by the option that its words name; null where it cannot be told. */
export function fieldOf(text: string, line: number | null | undefined, words: string): keyof PlanForm | null {
  const all = text.split('\n');
  if (line) {
    for (let at = Math.min(line, all.length) - 1; at >= 0; at--) {
      const found = all[at] ?? '';
      const table = /^\[+([\w-]+)\]+/.exec(found)?.[1];
      if (table) return FIELD_OF[table] ?? null;
      // A key of a table belongs to the table above it.
      const key = /^([\w-]+) =/.exec(found)?.[1];
      if (key && !all.slice(0, at).some((before) => before.startsWith('['))) return FIELD_OF[key] ?? null;
    }
  }
  const named = /--([a-z-]+)/.exec(words)?.[1] ?? /^(?:the )?([a-z-]+)\b/.exec(words)?.[1] ?? '';
  return FIELD_OF[named] ?? null;
}

/** The port that is named in what is wrong with a plan: its field; null where none is. */
export const portOf = (form: PlanForm, words: string): 'tx' | 'rx' | null => (['rx', 'tx'] as const).find((key) => form[key].trim() !== '' && words.includes(`(${form[key].trim()})`)) ?? null;

/** The fields that are folded away until they are asked for. */
export const FOLDED: readonly (keyof PlanForm)[] = ['source', 'destination', 'imix', 'streams', 'labels', 'cases'];

export interface Point {
  case: string;
  frame_size?: number | null;
  intended_percent: number;
  offered_percent: number;
  forwarded_percent: number;
  latency_median_ns?: number | null;
  latency_max_ns?: number | null;
  invalid?: string | null;
}

/** What the sizes of trials are called; a mixture has none. */
export const sizeName = (size: number | null | undefined): string => (size === null || size === undefined ? 'mixture' : `${size} B`);

/** The frame sizes of trials by number, a mixture last. */
export const sizesOf = (points: readonly Pick<Point, 'frame_size'>[]): string[] =>
  [...new Set(points.map((point) => point.frame_size ?? Number.POSITIVE_INFINITY))].sort((a, b) => a - b).map((size) => sizeName(Number.isFinite(size) ? size : null));

/** The loads of one frame size, and for each case the mean of `of` over the trials of each load. */
export function curves<P extends Point>(points: readonly P[], size: string, of: (point: P) => number | null | undefined): { x: number[]; cases: { name: string; values: (number | null)[] }[] } {
  const mine = points.filter((point) => sizeName(point.frame_size) === size && !point.invalid);
  const x = [...new Set(mine.map((point) => point.intended_percent))].sort((a, b) => a - b);
  const cases = [...new Set(mine.map((point) => point.case))].map((name) => ({
    name,
    values: x.map((load) => {
      const found = mine.filter((point) => point.case === name && point.intended_percent === load).map(of).filter((value): value is number => typeof value === 'number');
      return found.length > 0 ? found.reduce((sum, value) => sum + value, 0) / found.length : null;
    }),
  }));
  return { x, cases };
}

/** How much time is left of what was foreseen `elapsed` milliseconds ago, in whole seconds; or that it takes longer. */
export function leftWords(ns: number, elapsed: number): string {
  const left = Math.ceil(ns / 1e9 - elapsed / 1000);
  return left > 0 ? `${left} s left` : 'longer than expected';
}

/** What is wrong with a plan, without where it stands in the text that a form makes, and with no option's name. */
export const faultWords = (text: string): string => text.replace(/^(the plan cannot be used )?\(plan:\d+:\d+\):?\s*/, '').replace(/^bad value \(--[a-z-]+\): /, '');
