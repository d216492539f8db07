// Distributions of several runs over one axis.

export interface Histogram {
  bin_edges_ns: number[];
  counts: number[];
}

/** Cumulative shares at the edges of all histograms; null where none has values. */
export function distribution(histograms: (Histogram | null)[]): { x: number[]; values: (number | null)[][] } | null {
  const filled = histograms.map((one) => (one && one.counts.some((count) => count > 0) ? one : null));
  if (filled.every((one) => one === null)) return null;
  const x = [...new Set(filled.flatMap((one) => one?.bin_edges_ns ?? []))].sort((a, b) => a - b);
  const values = filled.map((one) => {
    if (!one) return x.map(() => null);
    const sum = one.counts.reduce((all, count) => all + count, 0);
    let [place, below] = [0, 0];
    return x.map((edge) => {
      while (place < one.counts.length && (one.bin_edges_ns[place + 1] ?? Number.POSITIVE_INFINITY) <= edge) below += one.counts[place++] ?? 0;
      const [low, high] = [one.bin_edges_ns[place], one.bin_edges_ns[place + 1]];
      const part = low !== undefined && high !== undefined && edge > low ? ((edge - low) / (high - low)) * (one.counts[place] ?? 0) : 0;
      return (below + part) / sum;
    });
  });
  return { x, values };
}

/** Curves that there are, each with the one it is of, and those of which there is none. */
export function present<T>(of: readonly T[], values: readonly (number | null)[][]): { drawn: { of: T; values: (number | null)[] }[]; absent: T[] } {
  const has = (place: number) => (values[place] ?? []).some((value) => value !== null);
  return {
    drawn: of.flatMap((one, place) => (has(place) ? [{ of: one, values: values[place] ?? [] }] : [])),
    absent: of.filter((_, place) => !has(place)),
  };
}

/** Which streams of two runs belong together: those to one target; where none are, those in one place. */
export function pairs(a: readonly { target: string }[], b: readonly { target: string }[]): [number, number][] {
  const taken = new Set<number>();
  const alike = a.flatMap((one, place): [number, number][] => {
    const other = b.findIndex((two, at) => two.target === one.target && !taken.has(at));
    if (other < 0) return [];
    taken.add(other);
    return [[place, other]];
  });
  return alike.length > 0 ? alike : a.slice(0, b.length).map((_, place) => [place, place]);
}
