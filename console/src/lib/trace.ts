// The seed's traces, looked at line by line while they are entered.

import { nanoseconds } from './quantity';

export interface LineFault {
  line: number;
  why: string;
}

const COLUMNS = ['port', 'loss', 'duplication', 'reorder_distance', 'delay_us'];

/** What is wrong with a trace of lines `port,loss,duplication,reorder_distance,delay_us`: at most ten faults. */
export function phamFaults(text: string): LineFault[] {
  const faults: LineFault[] = [];
  let entries = 0;
  text.split(/\r?\n/).forEach((raw, i) => {
    const line = raw.trim();
    const fault = (why: string) => faults.push({ line: i + 1, why });
    if (line === '' || line.startsWith('#') || faults.length >= 10) return;
    const fields = line.split(',').map((field) => field.trim());
    if (i === 0 && fields[0] === 'port') return;
    if (fields.length !== 5) return void fault(`has ${fields.length} fields; write ${COLUMNS.join(',')}`);
    entries++;
    const bad = fields.findIndex((field) => !/^\d+(\.\d+)?$/.test(field));
    if (bad >= 0) return void fault(`${COLUMNS[bad]} is not a number: ${fields[bad]}`);
    if (fields[0] !== '1' && fields[0] !== '2') fault('port is 1 (a) or 2 (b)');
    else if (fields[1] !== '0' && fields[1] !== '1') fault('loss is 0 or 1');
  });
  if (entries === 0 && faults.length === 0) faults.push({ line: 1, why: 'there is no entry; write one line for each packet' });
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
    if (!/^\d+$/.test(line)) return void faults.push({ line: i + 1, why: `${JSON.stringify(line.slice(0, 40))} is no whole number of milliseconds` });
    const moment = Number(line);
    if (moment < last) faults.push({ line: i + 1, why: `${moment} comes before ${last}, the line above it` });
    last = moment;
  });
  if (entries > 0 && last === 0 && faults.length === 0) faults.push({ line: entries, why: 'it ends at 0; the last moment is the period after which it repeats' });
  if (entries === 0 && faults.length === 0) faults.push({ line: 1, why: 'there is no line; write the moments at which a packet may leave, in milliseconds' });
  return faults;
}

/** Delays that were measured, a length of time a line, or a first line that says the unit: nanoseconds, and what is wrong. */
export function empirical(text: string): { values: number[]; faults: LineFault[] } {
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
    if (value === null) fault(`${JSON.stringify(line.slice(0, 40))} is no length of time with its unit, such as 30ms`);
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
