// How many packets in a row an impairment meets, where that follows from its probability and correlation.

import type { Table } from './forms';
import { probability } from './quantity';

/** Lengths that are drawn one by one. */
const MOST = 8;

export interface Spells {
  /** The share of the spells that have 1, 2, 3 ... packets. */
  shares: number[];
  /** The share of those that are longer still. */
  more: number;
  /** Packets of a spell on average; null where it never ends. */
  mean: number | null;
}

/** Spells of a Bernoulli or a correlated decision; null where there are none, or what is typed is none (yet). */
export function spells(table: Table | undefined): Spells | null {
  const p = probability(table?.probability);
  if (!table || p === null || p === 0) return null;
  const correlation = table.model === 'correlated' ? table.correlation : 0;
  if (typeof correlation !== 'number' || correlation < -1 || correlation > 1) return null;
  // The chance that the next one is met as well: of two states, with just this correlation from one packet to the next.
  const again = p + correlation * (1 - p);
  if (again < 0 || again > 1) return null;
  return {
    shares: Array.from({ length: MOST }, (_, i) => again ** i * (1 - again)),
    more: again ** MOST,
    mean: again < 1 ? 1 / (1 - again) : null,
  };
}
