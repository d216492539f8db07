// Markov chains: what follows from a matrix of transitions.

export type Matrix = number[][];

/** What is wrong with a row, or null. */
export function rowFault(row: (number | null)[]): string | null {
  if (row.some((value) => value === null)) return 'each entry is a probability from 0 to 1';
  const sum = row.reduce<number>((all, value) => all + (value ?? 0), 0);
  return Math.abs(sum - 1) > 1e-6 ? `sums to ${Number(sum.toPrecision(6))}; it must sum to 1` : null;
}

/** What the entry on the diagonal of row `i` must be for the row to sum to 1; null where the others do not allow one. */
export function completed(row: (number | null)[], i: number): number | null {
  if (row.some((value, j) => j !== i && value === null)) return null;
  const others = row.reduce<number>((sum, value, j) => (j === i ? sum : sum + (value ?? 0)), 0);
  return others <= 1 + 1e-9 ? Number(Math.max(0, 1 - others).toPrecision(12)) : null;
}

/** Which states can be reached from `start`, itself included. */
export function reachable(matrix: Matrix, start: number): boolean[] {
  const seen = matrix.map(() => false);
  const open = [start];
  while (open.length > 0) {
    const state = open.pop() as number;
    if (seen[state]) continue;
    seen[state] = true;
    matrix[state]?.forEach((p, next) => {
      if (p > 0) open.push(next);
    });
  }
  return seen;
}

/** The parts of the chain that it never leaves once it is in them, of the states that it can enter; none where each comes again. */
export function absorbing(matrix: Matrix, start = 0): number[][] {
  if (matrix.some((row) => row.length !== matrix.length || rowFault(row) !== null)) return [];
  const from = matrix.map((_, state) => reachable(matrix, state));
  return matrix.flatMap((_, state) => {
    const part = matrix.flatMap((_, to) => (from[state]?.[to] ? [to] : []));
    const closed = from[start]?.[state] && part[0] === state && part.every((to) => from[to]?.[state]);
    return closed && part.length < matrix.length ? [part] : [];
  });
}

/** That the chain ends in a part of its states, in words; null where it does not. */
export function absorbingWords(matrix: Matrix, start = 0): string | null {
  const parts = absorbing(matrix, start);
  const words = (part: number[]) => {
    const numbers = part.map((state) => String(state + 1));
    return numbers.length === 1 ? `state ${numbers[0]}` : `states ${numbers.slice(0, -1).join(', ')} and ${numbers.at(-1)}`;
  };
  const [only, ...others] = parts;
  if (!only) return null;
  if (others.length > 0) return `The chain ends in one of ${parts.map(words).join(' or ')} (absorbing): there is no long-term share.`;
  if (only.includes(start)) return `The chain starts in ${words(only)} (absorbing) and never leaves ${only.length > 1 ? 'them' : 'it'}.`;
  return `The chain ends in ${words(only)} (absorbing) and never leaves ${only.length > 1 ? 'them' : 'it'}.`;
}

/**
 * In the long run, which share of the visits each state has, from `start`; null where the rows are no distributions or
 * the chain, from there, ends in one of several closed parts.
 */
export function visits(matrix: Matrix, start = 0): number[] | null {
  const n = matrix.length;
  if (n === 0 || matrix.some((row) => row.length !== n || rowFault(row) !== null)) return null;
  // The closed part that is reached: states from which each that they reach is led back to.
  const from = matrix.map((_, state) => reachable(matrix, state));
  const closed = (state: number) => from[state]?.every((is, other) => !is || from[other]?.[state]) ?? false;
  const recurrent = matrix.map((_, state) => (from[start]?.[state] ?? false) && closed(state));
  const first = recurrent.indexOf(true);
  if (first < 0 || recurrent.some((is, state) => is && !from[first]?.[state])) return null;
  const states = recurrent.flatMap((is, state) => (is ? [state] : []));
  // Solve pi (P - I) = 0 with sum 1, by elimination with pivots.
  const size = states.length;
  const rows = states.map((_, i) =>
    states.map((_, j) => (matrix[states[j] as number]?.[states[i] as number] ?? 0) - (i === j ? 1 : 0)),
  );
  rows[size - 1] = states.map(() => 1);
  const right: number[] = states.map((_, i) => (i === size - 1 ? 1 : 0));
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let i = column + 1; i < size; i++) {
      if (Math.abs(rows[i]?.[column] ?? 0) > Math.abs(rows[pivot]?.[column] ?? 0)) pivot = i;
    }
    const at = rows[pivot] as number[];
    rows[pivot] = rows[column] as number[];
    rows[column] = at;
    [right[column], right[pivot]] = [right[pivot] as number, right[column] as number];
    const head = at[column] as number;
    if (Math.abs(head) < 1e-14) return null;
    for (let i = 0; i < size; i++) {
      if (i === column) continue;
      const factor = (rows[i]?.[column] ?? 0) / head;
      if (factor === 0) continue;
      for (let j = column; j < size; j++) (rows[i] as number[])[j]! -= factor * (at[j] as number);
      right[i]! -= factor * (right[column] as number);
    }
  }
  const shares = matrix.map(() => 0);
  states.forEach((state, i) => {
    shares[state] = (right[i] as number) / (rows[i]?.[i] as number);
  });
  return shares;
}

/** In the long run, which share of the packets, or of the time, each state has: visits weighted by their length. */
export function stationary(matrix: Matrix, durations: (number | null)[], start = 0): number[] | null {
  const shares = visits(matrix, start);
  if (!shares || durations.some((duration) => duration === null || duration <= 0)) return null;
  const weighted = shares.map((share, state) => share * (durations[state] as number));
  const sum = weighted.reduce((all, value) => all + value, 0);
  return sum > 0 ? weighted.map((value) => value / sum) : null;
}

/** The rate that follows: the mean over the states, by their shares. */
export function overall(shares: number[], probabilities: (number | null)[]): number | null {
  if (probabilities.some((value) => value === null)) return null;
  return shares.reduce((sum, share, state) => sum + share * (probabilities[state] as number), 0);
}

/** Each state leads to the next, and the last to the first: the seed's "linear sequence". */
export function linearSequence(states: number): Matrix {
  return Array.from({ length: states }, (_, i) =>
    Array.from({ length: states }, (_, j) => (j === (i + 1) % states ? 1 : 0)),
  );
}

/** The chances of Gilbert and Elliott's model for a loss ratio, and a mean number of packets lost in a row. */
export function gilbert(loss: number, burst: number): { p: number; r: number } | null {
  if (!(loss > 0 && loss < 1 && burst >= 1)) return null;
  const r = 1 / burst;
  const p = (r * loss) / (1 - loss);
  // What rounding adds to 1 is nothing.
  return p <= 1 + 1e-9 ? { p: Math.min(1, p), r } : null;
}

/** Why there are none, by the number that is wrong; null where there are. */
export function gilbertFault(loss: number | null, burst: number | null): { loss?: string; burst?: string } | null {
  if (typeof loss !== 'number' || !(loss > 0 && loss < 1)) return { loss: 'write a share between 0 and 1, or in percent: of none, or of all packets, there are no bursts' };
  if (typeof burst !== 'number' || !(burst >= 1)) return { burst: 'write 1 or more: a loss burst has at least one packet' };
  // A single packet arrives between two bursts at the least: the share lost is burst / (burst + 1) at the most.
  const least = loss / (1 - loss);
  return gilbert(loss, burst) ? null : { burst: `this loss needs bursts of ${Number((Math.ceil(least * 1000 - 1e-6) / 1000).toPrecision(6))} packets or more: between two bursts at least one packet arrives` };
}

/** The loss ratio of Gilbert and Elliott's model. */
export function gilbertLoss(p: number, r: number, good: number, bad: number): number | null {
  return p + r > 0 ? (good * r + bad * p) / (p + r) : null;
}

/** The transitions of the model of four states: received, received in a burst, lost, lost alone. */
export function fourStateMatrix(p13: number, p31: number, p32: number, p23: number, p14: number): Matrix {
  const stays = (sum: number) => Math.max(0, 1 - sum);
  return [
    [stays(p13 + p14), 0, p13, p14],
    [0, stays(p23), p23, 0],
    [p31, p32, stays(p31 + p32), 0],
    [1, 0, 0, 0],
  ];
}

/** Its loss ratio: the shares of the last two states. */
export function fourStateLoss(p13: number, p31: number, p32: number, p23: number, p14: number): number | null {
  const shares = visits(fourStateMatrix(p13, p31, p32, p23, p14));
  return shares ? (shares[2] as number) + (shares[3] as number) : null;
}
