// From counts that grow to what happened in each second.

import type { components } from '../api/schema';
import { lossRatio } from './ledger';

export type Tick = components['schemas']['EmulationSample'];
export type TickDirection = components['schemas']['TickDirection'];
type Summary = components['schemas']['TickSummary'];

export interface Second {
  at: number;
  a_to_b: Flow;
  b_to_a: Flow;
}

export interface Flow {
  received: number;
  transmitted: number;
  /** Bits a second of frames with their check sequences (layer 2); null where the interfaces do not count. */
  receivedBits: number | null;
  transmittedBits: number | null;
  duplicated: number;
  queued: number;
  lost: Record<string, number>;
  lostAll: number;
  /** Share lost before copies are made, and of what is left and its copies what is lost behind that; null where nothing came. */
  lossRatio: number | null;
  requested: number | null;
  /** Held for the delay that was asked for. */
  actual: number | null;
  /** From arrival to departure, the rate's queue included. */
  total: number | null;
  /** In the rate's queue, of the packets that met a rate. */
  queue: number | null;
  error: number | null;
  balance: number;
}

/** The mean of what came between two summaries of growing samples; after a reset, of all since. */
export function meanBetween(before: Summary, after: Summary): number | null {
  if (after.mean === null || after.mean === undefined || after.count === 0) return null;
  if (after.count < before.count || before.mean === null || before.mean === undefined) return after.mean;
  const came = after.count - before.count;
  return came > 0 ? (after.mean * after.count - before.mean * before.count) / came : null;
}

function flow(before: TickDirection, after: TickDirection, seconds: number): Flow {
  const rate = (key: 'received' | 'transmitted' | 'duplicates_created' | 'reordered' | 'corrupted') => (after[key] - before[key]) / seconds;
  const lost: Record<string, number> = {};
  let lostAll = 0;
  const causes = (way: TickDirection) => way.lost as Record<string, number>;
  for (const [cause, now] of Object.entries(causes(after))) {
    const came = (now - (causes(before)[cause] ?? 0)) / seconds;
    lost[cause] = came;
    lostAll += came;
  }
  const received = rate('received');
  const bits = (key: 'received_octets' | 'transmitted_octets') => {
    const [was, is] = [before[key], after[key]];
    return typeof was === 'number' && typeof is === 'number' && is >= was ? (8 * (is - was)) / seconds : null;
  };
  return {
    received,
    transmitted: rate('transmitted'),
    receivedBits: bits('received_octets'),
    transmittedBits: bits('transmitted_octets'),
    duplicated: rate('duplicates_created'),
    queued: after.queued,
    lost,
    lostAll,
    lossRatio: lossRatio({ received, transmitted: rate('transmitted'), duplicates_created: rate('duplicates_created'), reordered: rate('reordered'), corrupted: rate('corrupted'), lost }),
    requested: meanBetween(before.requested_delay_ns, after.requested_delay_ns),
    actual: meanBetween(before.actual_delay_ns, after.actual_delay_ns),
    total: meanBetween(before.total_delay_ns, after.total_delay_ns),
    queue: meanBetween(before.rate_queue_ns, after.rate_queue_ns),
    error: meanBetween(before.delay_error_ns, after.delay_error_ns),
    balance: after.balance,
  };
}

/** What happened between two ticks; null where they do not follow each other. */
export function second(before: Tick, after: Tick): Second | null {
  const seconds = (after.at_ms - before.at_ms) / 1000;
  const backwards = after.a_to_b.received < before.a_to_b.received || after.b_to_a.received < before.b_to_a.received;
  if (!(seconds > 0) || backwards) return null;
  return {
    at: after.at_ms / 1000,
    a_to_b: flow(before.a_to_b, after.a_to_b, seconds),
    b_to_a: flow(before.b_to_a, after.b_to_a, seconds),
  };
}

/** A table for other programs: of each direction the rates, what was lost by each cause, the delays and the balance. */
export function csv(seconds: Second[]): string {
  const ways = ['a_to_b', 'b_to_a'] as const;
  const causes = [...new Set(seconds.flatMap((one) => ways.flatMap((way) => Object.keys(one[way].lost))))];
  const figures: [string, (flow: Flow) => number | null][] = [
    ['received_pps', (flow) => flow.received],
    ['transmitted_pps', (flow) => flow.transmitted],
    ['received_l2_bps', (flow) => flow.receivedBits],
    ['transmitted_l2_bps', (flow) => flow.transmittedBits],
    ['duplicated_pps', (flow) => flow.duplicated],
    ['queued_packets', (flow) => flow.queued],
    ['lost_pps', (flow) => flow.lostAll],
    ...causes.map((cause): [string, (flow: Flow) => number | null] => [`lost_${cause}_pps`, (flow) => flow.lost[cause] ?? 0]),
    ['loss_ratio', (flow) => flow.lossRatio],
    ['requested_delay_ns', (flow) => flow.requested],
    ['actual_delay_ns', (flow) => flow.actual],
    ['total_delay_ns', (flow) => flow.total],
    ['rate_queue_ns', (flow) => flow.queue],
    ['delay_error_ns', (flow) => flow.error],
    ['balance_packets', (flow) => flow.balance],
  ];
  const head = ['time_utc', ...ways.flatMap((way) => figures.map(([name]) => `${way}.${name}`))];
  const lines = seconds.map((one) => [new Date(one.at * 1000).toISOString(), ...ways.flatMap((way) => figures.map(([, of]) => of(one[way]) ?? ''))].join(','));
  return [head.join(','), ...lines, ''].join('\n');
}
