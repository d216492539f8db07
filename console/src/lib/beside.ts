// What was measured beside what the emulator did meanwhile: figures that both have.

import type { components } from '../api/schema';
import type { Counts } from './ledger';
import { count } from './quantity';

type Schemas = components['schemas'];
type Direction = Schemas['DirectionResults'];

/** What an emulation did in one direction, as far as that is known. */
export interface Did extends Counts {
  /** Mean of the delays that packets got, from arrival to departure, nanoseconds. */
  delay: number | null;
  /** Of that, the mean in the rate's queue of those that met a rate; null where none did. */
  queue: number | null;
  /** Octets of the frames that left, with their check sequences. */
  octets: number | null;
}

/** The figures kept with a run, or of an emulation's own document. */
export function did(from: Schemas['EmulatedCounts'] | Schemas['EmulatedDirection'] | null | undefined): Did | null {
  if (!from) return null;
  const { received, transmitted, duplicates_created, reordered, corrupted } = from;
  const counts: Counts = { received, transmitted, duplicates_created, reordered, corrupted, lost: from.lost as Record<string, number> };
  // Older documents know the delay without the rate's queue only.
  if ('actual_delay_ns' in from) return { ...counts, delay: from.total_delay_ns?.mean ?? from.actual_delay_ns.mean ?? null, queue: from.rate_queue_ns?.mean ?? null, octets: null };
  return { ...counts, delay: from.total_delay_mean_ns ?? from.actual_delay_mean_ns ?? null, queue: from.rate_queue_mean_ns ?? null, octets: from.transmitted_octets ?? null };
}

/** How long packets came, from the first to the last, nanoseconds; null where none followed another. */
export function span(direction: Pick<Direction, 'inter_arrival_ns'>): number | null {
  const { count, mean } = direction.inter_arrival_ns;
  return count > 0 && typeof mean === 'number' && mean > 0 ? count * mean : null;
}

/** Bits a second of so many octets within that time. */
export const rate = (octets: number | null, length: number | null): number | null => (octets === null || length === null || !(length > 0) ? null : (8e9 * octets) / length);

/** Octets of a probe's frame with its check sequence; of probes whose sizes vary, of their mean. */
export function frame(traffic: Pick<Schemas['Traffic'], 'packet_octets'>): number | null {
  const packet = traffic.packet_octets;
  return typeof packet === 'number' ? Math.max(64, packet + 18) : null;
}

/**
 * What the emulator let past besides the probes, in words; null where it saw as many as were sent. A session's own messages take
 * the same way, and meet other queues than the probes between them: the means are of all.
 */
export function besides(seen: number | undefined, sent: number | null | undefined, arrow: string): string | null {
  if (typeof seen !== 'number' || typeof sent !== 'number' || seen === sent) return null;
  if (seen < sent) return `the emulator received ${count(seen)} packets ${arrow}, but ${count(sent)} were sent: some did not pass through it in this direction`;
  return `${count(seen - sent)} of the ${count(seen)} packets that the emulator received ${arrow} were not probes (control messages, or other hosts’ packets): the emulated values include them`;
}
