// What an axis of values spans.

export interface Bounds {
  /** It begins at 0. */
  zero?: boolean | undefined;
  /** Its top lies no lower, so that a constant 0 has an axis that means something. */
  least?: number | undefined;
  /** Its top lies no higher: 1 for shares. */
  most?: number | undefined;
}

/** From where to where the axis goes of values from `min` to `max`: never below 0 where no value is. */
export function range(min: number | null | undefined, max: number | null | undefined, { zero = false, least, most }: Bounds = {}): [number, number] {
  if (typeof min !== 'number' || typeof max !== 'number' || !Number.isFinite(min) || !Number.isFinite(max)) return [0, least ?? 1];
  const low = zero ? Math.min(0, min) : min;
  const high = Math.max(max, least ?? max, low);
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  const top = high + room;
  return [min >= 0 ? (zero ? 0 : Math.max(0, low - room)) : low - room, most === undefined ? top : Math.min(top, Math.max(most, high))];
}

/** What a legend tells of a curve: the value at the cursor, else the one now; where `present` is false, the last that there is. */
export function legend(values: readonly (number | null | undefined)[], at: number | null, present: boolean): number | null {
  if (at !== null) return values[at] ?? null;
  if (present) return values.at(-1) ?? null;
  return values.filter((value) => typeof value === 'number').at(-1) ?? null;
}
