// Numbers with their units, as people read and write them.

const NS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };

/** Nanoseconds of "30ms", "1m30s" or "10us"; null where it is none. */
export function nanoseconds(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const trimmed = text.trim();
  const part = /(\d+(?:\.\d+)?)(ns|us|µs|ms|min|m|s|h)/y;
  let sum = 0;
  let place = 0;
  while (place < trimmed.length) {
    part.lastIndex = place;
    const found = part.exec(trimmed);
    if (!found) return null;
    sum += Number(found[1]) * (NS[found[2] ?? ''] ?? Number.NaN);
    place = part.lastIndex;
  }
  return place > 0 && Number.isFinite(sum) ? sum : null;
}

/** A probability of 0.3 or "30%"; null where it is none. */
export function probability(value: unknown): number | null {
  let share: number | null = null;
  if (typeof value === 'number') share = value;
  else if (typeof value === 'string' && /^\s*\d*\.?\d+(e-?\d+)?\s*%?\s*$/i.test(value)) {
    share = value.includes('%') ? Number.parseFloat(value) / 100 : Number.parseFloat(value);
  }
  return share !== null && share >= 0 && share <= 1 ? share : null;
}

/**
 * The number that a text says, in digits with a point and an exponent; null where it says none, or one that numbers of a
 * page cannot hold: a whole one beyond 2^53, one that would become 0 or infinite.
 */
export function numberOf(text: string): number | null {
  const found = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.exec(text.trim());
  if (!found) return null;
  const value = Number(text.trim());
  const isHeld = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)) && (value !== 0 || !/[1-9]/.test(found[1] ?? ''));
  return isHeld ? value : null;
}

/** What is wrong with fields that hold a whole number of 1 or more, or nothing. */
export function wholeNumbers(fields: Record<string, string>): Record<string, string> {
  const wrong = Object.entries(fields).filter(([, text]) => text.trim() !== '' && !/^0*[1-9]\d{0,14}$/.test(text.trim()));
  return Object.fromEntries(wrong.map(([key, text]) => [key, `${JSON.stringify(text.trim())} is not a whole number; write digits only, such as 3000`]));
}

function rounded(value: number, digits = 4): string {
  if (value === 0) return '0';
  return String(Number(value.toPrecision(digits)));
}

/** A length of time in the unit that suits it. */
export function time(ns: number | null | undefined, digits = 4): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return '–';
  const size = Math.abs(ns);
  if (size >= 1e9) return `${rounded(ns / 1e9, digits)} s`;
  if (size >= 1e6) return `${rounded(ns / 1e6, digits)} ms`;
  if (size >= 1e3) return `${rounded(ns / 1e3, digits)} µs`;
  return `${rounded(ns, digits)} ns`;
}

/** A length of time as files have it: no space, plain letters. */
export function written(ns: number): string {
  return time(ns, 9).replace(' ', '').replace('µ', 'u');
}

/** A share in percent. */
export function percent(share: number | null | undefined, digits = 4): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '–';
  return `${rounded(share * 100, digits)} %`;
}

/** A rate of bits in the unit that suits it. */
export function bits(bps: number | null | undefined, digits = 4): string {
  if (bps === null || bps === undefined || !Number.isFinite(bps)) return '–';
  const size = Math.abs(bps);
  if (size >= 1e9) return `${rounded(bps / 1e9, digits)} Gbit/s`;
  if (size >= 1e6) return `${rounded(bps / 1e6, digits)} Mbit/s`;
  if (size >= 1e3) return `${rounded(bps / 1e3, digits)} kbit/s`;
  return `${rounded(bps, digits)} bit/s`;
}

/** A count with thin groups of three. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return Math.round(value).toLocaleString('en-US').replaceAll(',', '\u202f');
}

/** So many of something: `1 scenario`, `3 scenarios`. */
export const so = (number: number, one: string, many = `${one}s`): string => `${count(number)} ${number === 1 ? one : many}`;

/** Words of the server with micros as this page writes them: it writes for terminals, which may have no µ. */
export const told = (text: string): string => text.replace(/(\d[\s\u00a0])us\b/g, '$1µs');
