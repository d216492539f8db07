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
    case 'none':
      return 0;
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
const DROPPED = 'corrupted packets without repaired checksums are dropped by the receiver: they are measured as lost, and are included in the requested and the emulated loss; a packet is lost only if its duplicates are lost too';
const REPAIRED = 'corrupted packets with repaired checksums arrive: the contents of such probes may be wrong, so that some are not recognised';

/** How long its scenario had been in force when a measurement began, and when it ended, nanoseconds. */
export type During = readonly [number, number];

/** What the timeline of a scenario makes of a direction at a moment, and whether that stays until a later one. */
export function timed(scenario: Table, way: 'a_to_b' | 'b_to_a', [from, until]: During): { table: Table; stays: boolean } {
  const base = (scenario[way] as Table | undefined) ?? {};
  const every = nanoseconds((scenario.timeline_repeat as Table | undefined)?.every);
  const steps = ((scenario.timeline as Table[] | undefined) ?? [])
    .map((step) => ({ at: nanoseconds(step.at ?? '') ?? Number.POSITIVE_INFINITY, ramp: nanoseconds(step.ramp ?? '0s') ?? 0, table: (step[way] as Table | undefined) ?? {} }))
    .filter((step) => Object.keys(step.table).length > 0);
  if (steps.length === 0) return { table: base, stays: true };
  const round = every === null ? 0 : Math.floor(from / every);
  const [begins, ends] = every === null ? [from, until] : [from - round * every, until - round * every];
  let [table, stays] = [base, every === null || ends < every];
  for (const step of steps) {
    // What a ramp mixes holds for milliseconds; it counts as what it goes to once it is over.
    const over = step.at + step.ramp;
    if (over <= begins) table = { ...table, ...step.table };
    else if (step.at < ends) stays = false;
  }
  return { table, stays };
}

/**
 * What is requested of one direction; nothing at all where everything passes through untouched. Of packets of a flow (counted
 * from 0) these are the flow's settings, which the timeline does not change.
 */
export function askedFor(scenario: Table, way: 'a_to_b' | 'b_to_a', passing = false, during: During | null = null, flow: number | null = null, files: Record<string, string> = {}): AskedFor {
  const nothing: AskedFor = { loss: 0, duplicates: 0, reordered: 0, corrupted: 0, damageKills: false, delay: 0, rate: null, notes: [] };
  if (passing) return { ...nothing, notes: ['impairments were off'] };
  const own = flow === null ? undefined : ((scenario.flow as Table[] | undefined)?.[flow]?.[way] as Table | undefined);
  const { table, stays } = own ? { table: own, stays: true } : timed(scenario, way, during ?? [0, 0]);
  if (scenario.trace || (table.trace as Table | undefined)?.format === 'measurement') {
    const [corrupted, damageKills] = damage(table);
    const notes = ['loss, duplication, order and delay of each packet are set by the trace', ...(corrupted === 0 ? [] : [damageKills ? DROPPED : REPAIRED])];
    return { ...nothing, loss: null, duplicates: null, reordered: null, delay: null, corrupted, damageKills, notes };
  }
  const notes: string[] = [];
  if (table.trace) notes.push('departure times are set by a trace: the wait and loss in its queue are excluded');
  if (!own && (scenario.timeline as Table[] | undefined)?.length) {
    if (!during) notes.push('the timeline changes these settings: the values at its start are shown');
    else if (!stays) notes.push('the timeline changed these settings during the measurement: the values at its start are shown');
  }
  const limit = table.rate as Table | undefined;
  const rate = limit?.limit === 'none' ? undefined : limit;
  if (rate) notes.push('excluding the wait and loss in the rate queue');
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
