// The seed's traces, looked at line by line while they are entered.

import { nanoseconds } from './quantity';

export interface LineFault {
  line: number;
  why: string;
}

/** Beyond so many characters a file's lines are looked at by the server alone, and it is not edited on the page: browsers
 *  take seconds to lay out what is longer. */
export const LONG = 200_000;
/** The most that all files of a scenario have together, octets: what the server takes. */
export const MOST = 16 * 1024 * 1024 - 64 * 1024;
/** Its faults, where the page looks at it. */
export const looked = (text: string, look: (text: string) => LineFault[]): LineFault[] => (text.length > LONG ? [] : look(text));

const COLUMNS = ['port', 'loss', 'duplication', 'reorder_distance', 'delay_us'];

/** The farthest that a packet is displaced. */
const FARTHEST = 65_535;
/** The longest delay, microseconds. */
const LONGEST_US = 3_600_000_000;

const shown = (text: string) => JSON.stringify(text.slice(0, 40));
const within = (text: string, most: number) => /^\d+$/.test(text) && Number(text) <= most;

/** What is wrong with each field, in the order of [`COLUMNS`]; null where nothing is. */
const FIELDS: ((text: string) => string | null)[] = [
  (text) => (text === '1' || text === '2' ? null : 'write 1 (a) or 2 (b)'),
  (text) => (text === '0' || text === '1' ? null : 'write 0 or 1'),
  (text) => (within(text, 255) ? null : 'write 0, 1, or a number of copies up to 255'),
  (text) => (within(text, FARTHEST) ? null : `write a whole number from 0 to ${FARTHEST}`),
  (text) => (/^\d{1,12}(\.\d{0,3})?$/.test(text) && Number(text) <= LONGEST_US ? null : `write microseconds from 0 to ${LONGEST_US} (an hour)`),
];

/** What is wrong with a trace of lines `port,loss,duplication,reorder_distance,delay_us`: at most ten faults. */
export function phamFaults(text: string): LineFault[] {
  const faults: LineFault[] = [];
  let [entries, first] = [0, true];
  const ports = [new Array<number>(), new Array<number>()] as const;
  text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/).forEach((raw, i) => {
    const line = raw.trim();
    const fault = (why: string) => void faults.push({ line: i + 1, why });
    if (line === '' || line.startsWith('#') || faults.length >= TOLD) return;
    const head = first;
    first = false;
    if (line.includes(';')) return fault(`has semicolons; write ${COLUMNS.join(',')} with commas and decimal points`);
    const fields = line.split(',').map((field) => field.trim());
    if (fields.length !== COLUMNS.length) return fault(`has ${fields.length} ${fields.length === 1 ? 'column' : 'columns'}; write ${COLUMNS.join(',')}`);
    if (head && /^\p{Alphabetic}/u.test(fields[0] ?? '')) {
      const other = fields.findIndex((field, place) => field !== COLUMNS[place]);
      if (other === COLUMNS.length - 1 && fields[other]?.startsWith('delay')) return fault(`has a last column of another unit than microseconds, or of none (delay_us or delay_ms?); write the delays in microseconds, under ${COLUMNS.join(',')}`);
      return other < 0 ? undefined : fault(`has other column names or another order; write ${COLUMNS.join(',')}`);
    }
    entries++;
    const wrong = FIELDS.findIndex((look, place) => look(fields[place] ?? '') !== null);
    if (wrong >= 0) return fault(`${COLUMNS[wrong]} is ${shown(fields[wrong] ?? '')}; ${FIELDS[wrong]?.(fields[wrong] ?? '')}`);
    ports[Number(fields[0]) - 1]?.push(Number(fields[3]));
  });
  if (entries === 0 && faults.length === 0) faults.push({ line: 1, why: 'there is no entry; write one line for each packet' });
  if (faults.length === 0) {
    ports.forEach((distances, i) => {
      const far = distances.find((distance) => distance > distances.length);
      if (far !== undefined) faults.push({ line: 1, why: `port ${i + 1} has a reorder_distance of ${far} in a trace of ${distances.length} entries; write at most their number` });
    });
  }
  return faults;
}

/** Faults that are told. */
const TOLD = 10;
/** The longest delay, nanoseconds. */
const HOUR = 3600e9;

/** What is wrong with moments of departure, one a line in milliseconds, none before the one above it. */
export function mahimahiFaults(text: string): LineFault[] {
  const faults: LineFault[] = [];
  let [last, entries] = [0, 0];
  text.split(/\r?\n/).forEach((raw, i) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || faults.length >= TOLD) return;
    entries++;
    if (!/^\d+$/.test(line)) return void faults.push({ line: i + 1, why: `${JSON.stringify(line.slice(0, 40))} is not a whole number of milliseconds` });
    const moment = Number(line);
    if (moment < last) faults.push({ line: i + 1, why: `${moment} comes before ${last}, the line above it` });
    last = moment;
  });
  if (entries > 0 && last === 0 && faults.length === 0) faults.push({ line: entries, why: 'it ends at 0; the last moment is the period after which it repeats' });
  if (entries === 0 && faults.length === 0) faults.push({ line: 1, why: 'there is no line; write the moments at which a packet may leave, in milliseconds' });
  return faults;
}

// Several parts of the page read the same file.
let lastRead: { text: string; found: { values: number[]; faults: LineFault[] } } | null = null;

/** Delays that were measured, a length of time a line, or a first line that says the unit: nanoseconds, and what is wrong. */
export function empirical(text: string): { values: number[]; faults: LineFault[] } {
  if (lastRead?.text !== text) lastRead = { text, found: read(text) };
  return lastRead.found;
}

function read(text: string): { values: number[]; faults: LineFault[] } {
  const faults: LineFault[] = [];
  const values: number[] = [];
  let unit: string | null = null;
  text.replace(/^\ufeff/, '').split(/\r?\n/).forEach((raw, i) => {
    const line = raw.trim();
    const fault = (why: string) => void (faults.length < TOLD && faults.push({ line: i + 1, why }));
    if (line === '' || line.startsWith('#')) return;
    if (unit === null) {
      unit = '';
      if (line.startsWith('delay')) {
        unit = /^delay_(ns|us|ms|s)$/.exec(line)?.[1] ?? '';
        if (!unit) fault(`has no unit in ${JSON.stringify(line.slice(0, 40))}; write delay_ns, delay_us, delay_ms or delay_s`);
        return;
      }
    }
    const value = nanoseconds(`${line}${unit}`);
    if (value === null) fault(`${JSON.stringify(line.slice(0, 40))} is not a time with a unit, such as 30ms`);
    else if (value > HOUR) fault('a delay is from 0s to 1h');
    else values.push(value);
  });
  if (values.length === 0 && faults.length === 0) faults.push({ line: 1, why: 'there are no values; write a delay a line' });
  return { values, faults };
}

/** What is wrong with a packet log whose delays are played again: its head and the numbers of its fields. */
export function logFaults(text: string): LineFault[] {
  const faults: LineFault[] = [];
  let fields = 0;
  text.split(/\r?\n/).forEach((raw, i) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#') || faults.length >= TOLD) return;
    const found = line.split(',').map((field) => field.trim());
    if (fields === 0) {
      fields = found.length;
      if (!found.includes('sequence')) faults.push({ line: i + 1, why: 'the first line names the columns, as romer report --csv writes it: sequence,size,t1_ns,t2_ns,t3_ns,t4_ns' });
    } else if (found.length !== fields) faults.push({ line: i + 1, why: `has ${found.length} fields, and the first line ${fields}` });
    else if (found.some((field) => !/^-?\d*$/.test(field))) faults.push({ line: i + 1, why: 'a field is neither a whole number nor empty' });
  });
  if (fields === 0) faults.push({ line: 1, why: 'there is no line; paste a packet log' });
  return faults;
}
