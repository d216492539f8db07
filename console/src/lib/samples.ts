// Samples of packets, as the emulator tells them: a line for each packet and copy.

export interface Sample {
  ordinal: number;
  copy: number;
  port: string;
  size: number;
  /** Seconds since the emulation began. */
  x: number;
  arrival: number;
  departure: number | null;
  requested: number | null;
  actual: number | null;
  /** In the rate's queue and on its way out at the rate, nanoseconds; null where it met no rate. */
  rateQueue: number | null;
  /** What the emulator added to the delay that was asked for and to the time that the rate took, nanoseconds. */
  overhead: number | null;
  /** Packets of the same port that were held when it arrived, as far as the samples tell. */
  queue: number;
  fate: string;
  displacement: number | null;
}

/** The displacement of a packet that was displaced for a time, not by a number of packets. */
export const WAITED = 4294967295;

/** The samples of a table in the format of departures, in order of arrival. */
export function samples(text: string): Sample[] {
  const number = (field: string | undefined) => (field ? Number(field) : null);
  const all = text.trim().split('\n').slice(1).filter(Boolean).map((line): Sample => {
    const [ordinal, copy, port, size, arrival, departure, , fate, requested, displacement, waited] = line.split(',');
    const [at, left] = [Number(arrival), number(departure)];
    const actual = left === null ? null : left - at;
    const asked = number(requested);
    const rateQueue = number(waited);
    return {
      ordinal: Number(ordinal), copy: Number(copy), port: port ?? '', size: Number(size), x: at / 1e9, arrival: at, departure: left, requested: asked, actual, rateQueue,
      overhead: actual === null || asked === null ? null : actual - asked - (rateQueue ?? 0), queue: 0, fate: fate ?? '', displacement: number(displacement),
    };
  });
  all.sort((a, b) => a.arrival - b.arrival || a.copy - b.copy);
  for (const port of new Set(all.map((one) => one.port))) {
    // Departures of what came before, in order; those that are over when a packet arrives are no longer held.
    const mine = all.filter((one) => one.port === port);
    const leaving = mine.flatMap((one) => (one.departure === null ? [] : [one.departure])).sort((a, b) => a - b);
    let [gone, come] = [0, 0];
    let at = 0;
    for (const one of mine) {
      while (at < mine.length && (mine[at] as Sample).arrival < one.arrival) come += (mine[at++] as Sample).departure === null ? 0 : 1;
      while (gone < leaving.length && (leaving[gone] as number) <= one.arrival) gone++;
      one.queue = Math.max(0, come - gone);
    }
  }
  return all;
}

/** A series for each port over one axis, of what `of` gives. */
export function byPort(all: readonly Sample[], port: string, of: (one: Sample) => number | null): (number | null)[] {
  return all.map((one) => (one.port === port ? of(one) : null));
}
