// By how many packets others are let past: the chances of each number.

import type { Table } from './forms';

/** The standard normal distribution up to x (Abramowitz and Stegun 7.1.26; its error is below 1.5e-7). */
function normal(x: number): number {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-z * z);
  return x >= 0 ? 1 - tail / 2 : tail / 2;
}

/** Numbers that are drawn. */
const MOST = 60;

/** Each number of packets with its probability; null where it cannot be drawn (yet). */
export function displacements(table: Table | undefined): [number, number][] | null {
  if (!table) return [[1, 1]];
  const of = (key: string) => (typeof table[key] === 'number' ? (table[key] as number) : null);
  if (table.model === 'normal') {
    const [mean, sd] = [of('mean'), of('stddev')];
    if (mean === null || sd === null || sd < 0 || mean < 0) return null;
    if (sd === 0) return [[Math.round(mean), 1]];
    // Rounded to the nearest whole number; what lies below 0 is 0.
    const [low, high] = [Math.max(0, Math.round(mean - 4 * sd)), Math.round(mean + 4 * sd)];
    if (high - low >= MOST) return null;
    return Array.from({ length: high - low + 1 }, (_, i) => {
      const k = low + i;
      const below = k === 0 ? 0 : normal((k - 0.5 - mean) / sd);
      return [k, normal((k + 0.5 - mean) / sd) - below];
    });
  }
  const [low, high] = [of('low'), of('high')];
  if (low === null || high === null || !Number.isInteger(low) || !Number.isInteger(high) || low < 0 || high < low || high - low >= MOST) return null;
  return Array.from({ length: high - low + 1 }, (_, i) => [low + i, 1 / (high - low + 1)]);
}
