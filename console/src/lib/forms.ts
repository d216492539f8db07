// What can be asked of each stage: the keys of scenario files, with words for people.

export type Kind = 'probability' | 'time' | 'number' | 'whole' | 'octets' | 'rate' | 'choice' | 'flag' | 'file';

export interface Field {
  key: string;
  label: string;
  kind: Kind;
  help: string;
  start?: unknown;
  choices?: [string, string][];
  optional?: boolean;
}

export interface Choice {
  value: string;
  label: string;
  help: string;
  fields: Field[];
  /** A table within, which has models of its own. */
  inner?: { key: string; form: Form };
}

/** A table that has a model, the fields that the model has, and fields besides. */
export interface Form {
  label: string;
  /** The key of the model, and what there is; the first is taken where the key is missing. */
  models: Choice[];
  fields: Field[];
  groups: { key: string; form: Form }[];
}

const share = (key: string, label: string, help: string, start: unknown = 0.01): Field => ({ key, label, kind: 'probability', help, start });
const span = (key: string, label: string, help: string, start: string, optional = false): Field => ({ key, label, kind: 'time', help, start, optional });
const real = (key: string, label: string, help: string, start: number): Field => ({ key, label, kind: 'number', help, start });
/** One that may be left out, with what then holds. */
const open = (key: string, label: string, help: string, kind: Kind, start: unknown): Field => ({ key, label, kind, help, start, optional: true });
const whole = (key: string, label: string, help: string, start: number): Field => ({ key, label, kind: 'whole', help, start });

const one = share('probability', 'Probability', '0 to 1, or in percent: 0.01 or 1%');
const none: Choice = { value: 'none', label: 'Off', help: 'Not used.', fields: [] };
const bernoulli: Choice = { value: 'bernoulli', label: 'Independent (Bernoulli)', help: 'The same probability for every packet.', fields: [one] };
const correlated: Choice = {
  value: 'correlated', label: 'Correlated', help: 'The requested probability and autocorrelation, both exact.',
  fields: [one, real('correlation', 'Correlation', 'of one packet with the next, from -1 to 1', 0.25)],
};
const markov: Choice = { value: 'markov', label: 'Markov chain', help: 'States, each with its own setting, by packets or by time.', fields: [] };

export const VARIABLE: Form = {
  label: 'Variable part',
  models: [
    { value: 'none', label: 'None', help: 'Every packet has the fixed delay.', fields: [] },
    { value: 'uniform', label: 'Uniform', help: 'Uniform between minimum and maximum.', fields: [span('low', 'Minimum', 'such as 0us', '0us'), span('high', 'Maximum', 'such as 10ms', '10ms')] },
    { value: 'normal', label: 'Normal', help: 'Truncated at 0.', fields: [span('mean', 'Mean', 'before truncation at 0', '5ms'), span('stddev', 'Standard deviation', 'before truncation at 0', '1ms')] },
    { value: 'exponential', label: 'Exponential', help: 'Such as waiting times in a queue.', fields: [span('mean', 'Mean', 'and standard deviation', '5ms')] },
    { value: 'pareto', label: 'Pareto', help: 'Heavy-tailed.', fields: [span('scale', 'Scale', 'minimum of the delay', '1ms'), real('shape', 'Shape', 'smaller: heavier tail', 2.5)] },
    { value: 'gamma', label: 'Gamma', help: 'Between exponential (shape 1) and normal.', fields: [span('scale', 'Scale', 'mean = scale × shape', '1ms'), real('shape', 'Shape', 'larger: less relative variation', 2)] },
    { value: 'empirical', label: 'From a file', help: 'Measured delays, one per line.', fields: [{ key: 'file', label: 'File', kind: 'file', help: 'delays with their unit, one per line', start: 'delays.txt' }] },
    {
      value: 'correlated', label: 'Correlated', help: 'Another distribution, correlated from packet to packet.',
      fields: [real('coefficient', 'Coefficient', 'from -1 to 1', 0.5)],
    },
  ],
  fields: [],
  groups: [],
};
// A correlated distribution is one of the others.
const OF: Form = { ...VARIABLE, label: 'Distribution', models: VARIABLE.models.slice(1, 7) };
const last = VARIABLE.models.at(-1);
if (last) last.inner = { key: 'distribution', form: OF };

export const DISPLACEMENT: Form = {
  label: 'Displacement',
  models: [
    { value: 'uniform', label: 'Uniform', help: 'Uniform between minimum and maximum.', fields: [whole('low', 'Minimum', 'packets that overtake', 1), whole('high', 'Maximum', 'packets that overtake', 3)] },
    { value: 'normal', label: 'Normal', help: 'Rounded; values below 0 are 0.', fields: [real('mean', 'Mean', 'packets', 3), real('stddev', 'Standard deviation', 'packets', 1)] },
  ],
  fields: [], groups: [],
};

const QUEUE: Form = {
  label: 'Queue',
  models: [
    { value: 'tail-drop', label: 'Tail drop', help: 'Packets that do not fit are dropped.', fields: [] },
    { value: 'red', label: 'RED', help: 'Random early detection: drops as the queue grows.', fields: [
      open('low', 'Low', 'average queue length at which drops begin: 8KiB', 'octets', 'an eighth of the size'), open('high', 'High', 'average queue length at which the probability is reached: 24KiB', 'octets', '3 eighths of the size'),
      open('probability', 'Probability', 'of a drop at High: 0 to 1, or in percent', 'probability', '0.1'), open('weight', 'Weight', 'of the latest queue length in the average, 0 to 1', 'number', '0.002'),
    ] },
    { value: 'codel', label: 'CoDel', help: 'Controlled delay (RFC 8289).', fields: [span('target', 'Target', 'accepted queueing delay', '5ms'), span('interval', 'Interval', 'packets are dropped if the delay stays above the target for this time', '100ms')] },
  ],
  fields: [{ key: 'bytes', label: 'Size', kind: 'octets', help: 'with a unit: 64KiB', start: '64KiB' }],
  groups: [],
};

const ORDERS: [string, string][] = [['exact', 'exact: order and distribution preserved'], ['fifo', 'fifo: order preserved by waiting'], ['independent', 'independent: may overtake']];

export const STAGES: Record<string, Form> = {
  loss: {
    label: 'Loss',
    models: [
      none, bernoulli,
      {
        value: 'gilbert-elliott', label: 'Gilbert-Elliott', help: 'A good and a bad state: losses in bursts.',
        fields: [
          share('p', 'p: good to bad', 'per packet', 0.01), share('r', 'r: bad to good', 'per packet', 0.25),
          share('loss_good', 'Loss in the good state', 'probability', 0), share('loss_bad', 'Loss in the bad state', 'probability', 1),
        ],
      },
      {
        value: 'four-state', label: 'Four states', help: 'Bursts with gaps, and single losses.',
        fields: [share('p13', 'p13: into a burst', 'after a received packet', 0.01), share('p31', 'p31: out of a burst', 'after a lost packet', 0.3), share('p32', 'p32: gap in a burst', 'after a lost packet', 0.1), share('p23', 'p23: end of the gap', 'after a received packet in a burst', 0.5), share('p14', 'p14: single losses', 'after a received packet', 0.001)],
      },
      correlated, markov,
    ],
    fields: [], groups: [],
  },
  duplicate: {
    label: 'Duplicate', models: [none, bernoulli, correlated, markov],
    fields: [span('delay', 'Delay of the copy', 'in addition to the delay of the packet', '0us', true)], groups: [],
  },
  reorder: {
    label: 'Reorder', models: [none, bernoulli, correlated, markov],
    fields: [span('flush', 'Flush', 'maximum wait of a displaced packet', '100ms', true)],
    groups: [{ key: 'displacement', form: DISPLACEMENT }],
  },
  delay: {
    label: 'Delay',
    models: [none, { value: 'plain', label: 'Fixed and variable', help: 'The same distribution for every packet.', fields: [span('fixed', 'Fixed part', 'with a unit: 30ms', '30ms')] }, markov],
    fields: [{
      key: 'order', label: 'Order', kind: 'choice', help: 'packet order', optional: true,
      choices: ORDERS,
    }],
    groups: [{ key: 'variable', form: VARIABLE }],
  },
  corrupt: {
    label: 'Corrupt', models: [none, bernoulli, correlated],
    fields: [
      { ...whole('bits', 'Bits', 'inverted per packet', 1), optional: true },
      { key: 'repair_checksum', label: 'Repair checksums', kind: 'flag', help: 'the receiver accepts the packet', optional: true },
    ],
    groups: [],
  },
  rate: {
    label: 'Rate',
    models: [none, {
      value: 'limit', label: 'Limited', help: 'At most this rate passes.',
      fields: [
        { key: 'limit', label: 'Limit', kind: 'rate', help: '10Mbit, 1.25MBps or 14880pps', start: '10Mbit' },
        { key: 'layer', label: 'Layer', kind: 'choice', help: 'bytes that count', start: 'l2', choices: [['l1', 'layer 1: frames with preamble and gap'], ['l2', 'layer 2: frames with FCS'], ['l3', 'layer 3: IP packets']] },
      ],
    }],
    fields: [], groups: [{ key: 'queue', form: QUEUE }],
  },
};

/** The headers by which packets match a flow. */
export const MATCH: Field[] = ([['dscp', 'DSCP', 'ef, af41 or 0 to 63'], ['protocol', 'Protocol', 'udp, tcp, icmp or a number'], ['source', 'Source', 'IP address, or a range: 192.0.2.0/24'], ['destination', 'Destination', 'IP address, or a range: 192.0.2.0/24'], ['source_port', 'Source port', '0 to 65535'], ['destination_port', 'Destination port', '0 to 65535'], ['vlan', 'VLAN', '0 to 4095'], ['ethertype', 'Ethertype', '0 to 65535, after VLAN tags: 2048 is IPv4']] as const)
  .map(([key, label, help]) => ({ key, label, kind: 'number', help, optional: true }));

/** The settings of a trace: its format, its replay, its file. */
export const TRACE_FILE: Field = { key: 'file', label: 'File', kind: 'file', help: 'choose a file, or paste its lines' };
export const TRACE_FORMAT: Field = { key: 'format', label: 'Format', kind: 'choice', help: 'format of the file', choices: [['mahimahi', 'mahimahi: departure times, ms'], ['measurement', 'packet log of romer']] };
export const TRACE_BY: Field = { key: 'by', label: 'Replay by', kind: 'choice', help: 'the next row for each packet, or the rows around its arrival time', optional: true, choices: [['packet', 'packet'], ['time', 'time']] };
export const TRACE_FIXED: Field = open('fixed', 'Fixed part', 'added to the delays, which are relative to their minimum: 10ms', 'time', '0ms');
const BOTH: [string, string][] = [['forward', 'forward'], ['reverse', 'reverse']];
/** The direction of a log that is replayed; the default comes first. */
export const traceDirection = (isBack: boolean): Field => ({ key: 'direction', label: 'Direction of the log', kind: 'choice', help: 'direction of the log to replay', optional: true, choices: isBack ? [...BOTH].reverse() : BOTH });
/** The packet order; the default is that of the delay for a recorded link, and fifo for other traces. */
export const traceOrder = (isLink: boolean): Field => ({ key: 'order', label: 'Order', kind: 'choice', help: 'packet order', optional: true, choices: isLink ? ORDERS : [ORDERS[1] as [string, string], ORDERS[0] as [string, string], ORDERS[2] as [string, string]] });
export const TRACE: Field[] = [TRACE_FORMAT, TRACE_BY, TRACE_FIXED, traceDirection(false), traceOrder(false), TRACE_FILE];

export type Table = Record<string, unknown>;

/** What a state of a chain has of its stage. */
export function stateFields(stage: string): Field[] {
  if (stage === 'delay') return [span('fixed', 'Fixed', 'of each packet in this state: 30ms', '0ms')];
  const fields: Field[] = [share('probability', 'Probability', 'of each packet in this state', 0)];
  if (stage === 'duplicate') fields.push(span('delay', 'Delay of the copy', 'in addition to the delay of the packet', '0us', true));
  return fields;
}

/** Which model a table of a stage has. */
export function modelOf(stage: string, table: Table | undefined): string {
  if (!table) return 'none';
  if (typeof table.model === 'string') return table.model;
  if (stage === 'delay') return 'plain';
  if (stage === 'rate') return table.limit === 'none' ? 'none' : 'limit';
  return 'bernoulli';
}

/** A stage's table after another model was chosen; undefined for none. What both models have is kept. */
export function withModel(stage: string, model: string, before: Table | undefined): Table | undefined {
  if (model === 'none') return undefined;
  const form = STAGES[stage];
  const choice = form?.models.find((one) => one.value === model);
  const table: Table = {};
  if (model !== 'plain' && model !== 'limit') table.model = model;
  if (model === 'markov') {
    table.step = 'packets';
    table.transition = [[0.97, 0.03], [0.99, 0.01]];
    const states = stage === 'delay'
      ? [{ duration: 1, fixed: '10ms' }, { duration: 10, fixed: '50ms' }]
      : [{ duration: 1, probability: 0 }, { duration: 10, probability: 1 }];
    table.state = stage === 'reorder' ? states.map((one) => ({ ...one, displacement: { model: 'uniform', low: 1, high: 3 } })) : states;
    if (before?.order) table.order = before.order;
    if (before?.flush) table.flush = before.flush;
    return table;
  }
  for (const field of choice?.fields ?? []) table[field.key] = before?.[field.key] ?? field.start;
  for (const field of form?.fields ?? []) if (before?.[field.key] !== undefined) table[field.key] = before[field.key];
  for (const group of form?.groups ?? []) {
    if (before?.[group.key] !== undefined) table[group.key] = before[group.key];
    else if (group.key === 'displacement') table[group.key] = { model: 'uniform', low: 1, high: 3 };
  }
  return table;
}
