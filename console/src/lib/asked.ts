// What a scenario asks for, in the figures that a measurement has.

import { curve } from './density';
import type { Table } from './forms';
import { nothingArrives } from './ledger';
import { fourStateLoss, gilbertLoss, overall, stationary } from './markov';
import { nanoseconds, probability } from './quantity';

export interface AskedFor {
  /** Share of the packets of which nothing arrives: lost by the model, or damaged with checksums that tell it. */
  loss: number | null;
  /** Of packets that the model has not lost. */
  duplicates: number | null;
  /** Of packets that the model has not lost, and their copies. */
  reordered: number | null;
  corrupted: number | null;
  /** Whether what is corrupted is dropped where it arrives: its checksums are not repaired. */
  damageKills: boolean;
  /** Mean delay, nanoseconds, without what packets wait for a limited rate. */
  delay: number | null;
  /** Limit and layer, as the scenario has them. */
  rate: string | null;
  /** What these figures do not say. */
  notes: string[];
}

/** The shares of a chain's states, by packets or time. */
export function sharesOf(table: Table): number[] | null {
  const states = (table.state as Table[] | undefined) ?? [];
  const matrix = ((table.transition as unknown[][] | undefined) ?? []).map((row) => row.map((value) => probability(value)));
  if (matrix.some((row) => row.some((value) => value === null))) return null;
  const durations = states.map((state) => (table.step === 'time' ? nanoseconds(state.duration) : typeof state.duration === 'number' ? state.duration : null));
  const start = (typeof table.initial === 'number' ? table.initial : 1) - 1;
  return stationary(matrix as number[][], durations, start);
}

/** The overall probability of a stage; 0 where there is none, null where it cannot be told. */
export function share(table: Table | undefined): number | null {
  if (!table) return 0;
  const of = (key: string, otherwise: number | null) => (table[key] === undefined ? otherwise : probability(table[key]));
  switch (table.model ?? 'bernoulli') {
    case 'bernoulli':
    case 'correlated':
      return of('probability', null);
    case 'gilbert-elliott': {
      const all = [of('p', null), of('r', null), of('loss_good', 0), of('loss_bad', 1)];
      return all.includes(null) ? null : gilbertLoss(...(all as [number, number, number, number]));
    }
    case 'four-state': {
      const all = ['p13', 'p31', 'p32', 'p23', 'p14'].map((key) => of(key, null));
      return all.includes(null) ? null : fourStateLoss(...(all as [number, number, number, number, number]));
    }
    case 'markov': {
      const shares = sharesOf(table);
      return shares && overall(shares, ((table.state as Table[] | undefined) ?? []).map((state) => probability(state.probability)));
    }
    default:
      return null;
  }
}

function meanOf(table: Table, files: Record<string, string>): number | null {
  const fixed = table.fixed === undefined ? 0 : nanoseconds(table.fixed);
  if (fixed === null) return null;
  if (!table.variable) return fixed;
  const mean = curve(table.variable as Table, files)?.mean ?? null;
  return mean === null ? null : fixed + mean;
}

/** The mean delay of a stage, nanoseconds. */
export function meanDelay(table: Table | undefined, files: Record<string, string> = {}): number | null {
  if (!table) return 0;
  if (table.model !== 'markov') return meanOf(table, files);
  const shares = sharesOf(table);
  const means = ((table.state as Table[] | undefined) ?? []).map((state) => meanOf(state, files));
  if (!shares || means.includes(null)) return null;
  return shares.reduce((sum, one, i) => sum + one * (means[i] as number), 0);
}

/** Whether a scenario asks for anything to happen to packets. */
export function asksAnything(scenario: Table): boolean {
  const of = (table: Table | undefined) => Object.keys(table ?? {}).length > 0;
  const ways = (table: Table) => of(table.a_to_b as Table | undefined) || of(table.b_to_a as Table | undefined);
  const lists = ['flow', 'timeline'].flatMap((key) => (scenario[key] as Table[] | undefined) ?? []);
  return Boolean(scenario.trace) || ways(scenario) || lists.some((one) => ways(one) || Boolean(one.trace));
}

/** The share of packets that are corrupted, and whether that keeps them from being taken where they arrive. */
function damage(direction: Table): [number | null, boolean] {
  const corrupt = direction.corrupt as Table | undefined;
  const corrupted = share(corrupt);
  return [corrupted, corrupted !== 0 && corrupt?.repair_checksum !== true];
}
const DROPPED = 'what is corrupted without repaired checksums is dropped where it arrives: such probes are measured as lost, and are counted so in what was asked for and done; a packet is lost only if its copy is, too';
const REPAIRED = 'what is corrupted has its checksums repaired and arrives: what such a probe says may be wrong, or keep it from being known';

/** What is asked for of one direction; nothing at all where everything passes through untouched. */
export function askedFor(scenario: Table, way: 'a_to_b' | 'b_to_a', passing = false, files: Record<string, string> = {}): AskedFor {
  const nothing: AskedFor = { loss: 0, duplicates: 0, reordered: 0, corrupted: 0, damageKills: false, delay: 0, rate: null, notes: [] };
  if (passing) return { ...nothing, notes: ['everything passed through untouched'] };
  const table = (scenario[way] as Table | undefined) ?? {};
  if (scenario.trace || (table.trace as Table | undefined)?.format === 'measurement') {
    const [corrupted, damageKills] = damage(table);
    const notes = ['a trace says what happens to each packet', ...(corrupted === 0 ? [] : [damageKills ? DROPPED : REPAIRED])];
    return { ...nothing, loss: null, duplicates: null, reordered: null, delay: null, corrupted, damageKills, notes };
  }
  const notes: string[] = [];
  if (table.trace) notes.push('a trace says when packets leave: what waits for that, or is lost in its queue, comes on top');
  if ((scenario.flow as Table[] | undefined)?.length) notes.push('flows that match have settings of their own, which are not among these');
  if ((scenario.timeline as Table[] | undefined)?.length) notes.push('the timeline changes them; these are the settings at its start');
  const rate = table.rate as Table | undefined;
  if (rate) notes.push('what waits for the limited rate, or is lost in its queue, comes on top');
  const [lost, duplicates, corrupted, damageKills] = [share(table.loss as Table | undefined), share(table.duplicate as Table | undefined), ...damage(table)];
  if (corrupted !== 0) notes.push(damageKills ? DROPPED : REPAIRED);
  return {
    loss: nothingArrives(lost, damageKills ? corrupted : 0, duplicates),
    duplicates,
    reordered: share(table.reorder as Table | undefined),
    corrupted,
    damageKills,
    delay: meanDelay(table.delay as Table | undefined, files),
    rate: rate ? `${String(rate.limit)} (${String(rate.layer ?? '')})` : null,
    notes,
  };
}
