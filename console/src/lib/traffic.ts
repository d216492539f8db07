// What `--traffic` takes, asked for in fields.

export interface Part {
  key: string;
  label: string;
  help: string;
  start: string;
  choices?: [string, string][];
}

export interface Kind {
  value: string;
  label: string;
  parts: Part[];
  /** The word of it, with its parts filled in. */
  write: (of: (key: string) => string) => string;
}

const CODEC: Part = {
  key: 'codec', label: 'Packets of', help: 'while there is talk', start: 'g711',
  choices: [['', 'one every interval'], ['melp', 'MELP'], ['g711', 'G.711'], ['g729', 'G.729'], ['opus', 'Opus'], ['amr-wb', 'AMR-WB'], ['evs', 'EVS']],
};
const plain = (value: string, label: string): Kind => ({ value, label, parts: [], write: () => value });
const at = (codec: string) => (codec ? `@${codec}` : '');

export const KINDS: Kind[] = [
  plain('periodic', 'Periodic: one every interval'),
  plain('poisson', 'Poisson: random gaps'),
  plain('melp', 'MELP speech, 2.4 kbit/s'),
  plain('g711', 'G.711 speech, 64 kbit/s'),
  plain('g729', 'G.729 speech, 8 kbit/s'),
  { value: 'opus', label: 'Opus speech', parts: [{ key: 'rate', label: 'Bit rate', help: 'of the codec: 32kbit', start: '32kbit' }], write: (of) => (of('rate') ? `opus:${of('rate')}` : 'opus') },
  { value: 'amr-wb', label: 'AMR-WB speech', parts: [{ key: 'rate', label: 'Bit rate', help: 'of the codec: 12.65kbit', start: '12.65kbit' }], write: (of) => (of('rate') ? `amr-wb:${of('rate')}` : 'amr-wb') },
  { value: 'evs', label: 'EVS speech', parts: [{ key: 'rate', label: 'Bit rate', help: 'of the codec: 24.4kbit', start: '24.4kbit' }], write: (of) => (of('rate') ? `evs:${of('rate')}` : 'evs') },
  {
    value: 'talkspurt', label: 'Talk and silence of a conversation',
    parts: [{ key: 'model', label: 'Conversation', help: 'model of the lengths of talk and silence', start: 'p59', choices: [['p59', 'ITU-T P.59'], ['brady', 'Brady'], ['hyper', 'hyperexponential']] }, CODEC],
    write: (of) => `talkspurt:${of('model')}${at(of('codec'))}`,
  },
  {
    value: 'onoff', label: 'On-off source',
    parts: [
      { key: 'on', label: 'On for', help: '1s exponential, =1s constant, 0.7*400ms+0.3*2s mixed', start: '1s' },
      { key: 'off', label: 'Off for', help: 'the same', start: '1.35s' }, CODEC,
    ],
    write: (of) => `onoff:${of('on')},${of('off')}${at(of('codec'))}`,
  },
  {
    value: 'imix', label: 'Mixture of sizes (IMIX)',
    parts: [{ key: 'mixture', label: 'Mixture', help: 'simple, chadda2004, or a genome of RFC 6985: 20(abcd)5(ggga)', start: 'simple' }],
    write: (of) => `imix:${of('mixture')}`,
  },
  {
    value: 'token-bucket', label: 'As fast as a token bucket permits',
    parts: [
      { key: 'bucket', label: 'Rate of the bucket', help: 'counts payload: 16kBps', start: '16kBps' },
      { key: 'depth', label: 'Its depth', help: 'in octets: 64B', start: '64B' },
    ],
    write: (of) => `token-bucket:${of('bucket')},${of('depth')}`,
  },
  plain('im', 'Instant messaging: few, mostly small'),
  { value: 'trace', label: 'As recorded in a file', parts: [], write: (of) => `trace:${of('file') || 'trace.csv'}` },
];

/** What `--traffic` is of a kind with these parts; parts that were never filled in have what they start with. */
export function traffic(kind: string, parts: Record<string, string>): string {
  const found = KINDS.find((one) => one.value === kind);
  if (!found) return kind;
  const of = (key: string) => (parts[`${kind}.${key}`] ?? found.parts.find((part) => part.key === key)?.start ?? '').replace(/\s+/g, '');
  return found.write(of);
}

/** Six numbers of a seed, or what is wrong with them; null where nothing is written. */
export function seedOf(text: string): { seed: number[] | null; fault: string | null } {
  if (text.trim() === '') return { seed: null, fault: null };
  const words = text.trim().split(/[\s,]+/);
  const numbers = words.map((word) => (/^\d{1,10}$/.test(word) ? Number(word) : Number.NaN));
  if (numbers.length !== 6 || numbers.some((number) => !(number <= 0xffffffff))) return { seed: null, fault: 'write six numbers from 0 to 4294967295, with commas between them' };
  if (numbers.every((number) => number === 0)) return { seed: null, fault: 'six zeros stand for no seed: write others, or none for a random seed' };
  return { seed: numbers, fault: null };
}

/** What is wrong with each word of a seed; undefined where nothing is. */
export function seedFaults(words: readonly unknown[]): (string | undefined)[] {
  return words.map((word) => (typeof word === 'number' && Number.isInteger(word) && word >= 0 && word <= 0xffffffff ? undefined : 'write whole numbers from 0 to 4294967295'));
}
