// What comes of a measurement while it runs, interval by interval and stream by stream.

import type { components } from '../api/schema';

type Schemas = components['schemas'];

/** Intervals that are kept of each stream. */
export const MOST = 1200;

export interface Way {
  median: number | null;
  p99: number | null;
  jitter: number | null;
  /** Share of one-way packets that is missing of those of which it is time that they have arrived, up to then. */
  lost: number | null;
}

export interface Point {
  /** Seconds since the start. */
  x: number;
  forward: Way;
  reverse: Way;
  roundTrip: Way;
  /** Median time between arrivals here, and the greatest. */
  between: { median: number | null; max: number | null };
  /** Share lost of the packets of which it is known whether they came. */
  loss: number | null;
}

/** The points of each stream of a measurement, by the stream's number. */
export type Points = Record<number, Point[]>;

const value = (number: number | null | undefined): number | null => number ?? null;
const NOTHING: Way = { median: null, p99: null, jitter: null, lost: null };
const lost = (of: { sent?: number | null; arrived?: number | null }): number | null => (of.sent ? Math.max(0, 1 - (of.arrived ?? 0) / of.sent) : null);
const share = (of: { settled: number; lost: number }): number | null => (of.settled > 0 ? of.lost / of.settled : null);
const way = (live: Schemas['LiveWay'] | undefined): Way =>
  live ? { median: value(live.delay_ns.median), p99: value(live.delay_ns.p99), jitter: value(live.jitter_rfc3550_ns), lost: lost(live) } : NOTHING;

/** With what a measurement tells now; the same object where that is nothing new. */
export function taken(before: Points, job: Pick<Schemas['Job'], 'streams' | 'live'>): Points {
  let points = before;
  for (const stream of job.streams) {
    const held = points[stream.stream] ?? [];
    const x = stream.elapsed_ns / 1e9;
    if ((held.at(-1)?.x ?? -1) >= x) continue;
    const live = job.live.find((one) => one.stream === stream.stream && one.elapsed_ns === stream.elapsed_ns);
    const point: Point = {
      x,
      forward: way(live?.forward),
      reverse: way(live?.reverse),
      // What the log does not tell (it could not be read) the measurement itself does.
      roundTrip: live ? way(live.round_trip) : { ...NOTHING, median: value(stream.round_trip_delay_ns.median), p99: value(stream.round_trip_delay_ns.p99) },
      between: { median: value(live?.inter_arrival_ns.median), max: value(live?.inter_arrival_ns.max) },
      loss: share(stream),
    };
    points = { ...points, [stream.stream]: [...held.slice(1 - MOST), point] };
  }
  return points;
}

/** The points of what the server has kept of a measurement, and of what came meanwhile. */
export function past(kept: readonly Schemas['Interval'][], since: Points): Points {
  const points: Points = {};
  const of = (found: Schemas['IntervalWay']): Way => ({ median: value(found.median_ns), p99: value(found.p99_ns), jitter: value(found.jitter_rfc3550_ns), lost: lost(found) });
  for (const one of kept) {
    (points[one.stream] ??= []).push({
      x: one.elapsed_ns / 1e9, forward: of(one.forward), reverse: of(one.reverse), roundTrip: of(one.round_trip),
      between: { median: value(one.inter_arrival_median_ns), max: value(one.inter_arrival_max_ns) },
      loss: share(one),
    });
  }
  for (const [stream, later] of Object.entries(since)) {
    const held = points[Number(stream)] ?? [];
    const last = held.at(-1)?.x ?? -1;
    points[Number(stream)] = [...held, ...later.filter((point) => point.x > last)].slice(-MOST);
  }
  return points;
}

/** Whether anything came of a measurement that is over; of one that goes there alone that is not known here. */
export function come(job: Pick<Schemas['Job'], 'state' | 'streams'> & { request: Pick<Schemas['MeasurementRequest'], 'direction'> }): 'something' | 'nothing' {
  const tells = job.state === 'done' && job.request.direction !== 'forward' && job.streams.length > 0;
  return tells && job.streams.every((one) => one.returned === 0) ? 'nothing' : 'something';
}

/** How a measurement stands, in words, and in which colour. */
export function standing(job: Parameters<typeof come>[0] & { failed_limits?: readonly string[] }): { words: string; tone: string } {
  const failed = job.failed_limits?.length ?? 0;
  if (failed > 0 && job.state !== 'running') return { words: `${job.state}, ${failed === 1 ? '1 limit' : `${failed} limits`} failed`, tone: 'bad' };
  if (come(job) === 'nothing') return { words: 'done, no reply', tone: 'bad' };
  return { words: job.state, tone: { running: '', done: 'good', partial: 'warn', failed: 'bad' }[job.state] };
}

/** The last value that is known: of packets that go one way the last interval's is told an interval later, and at the end not at all. */
export function latest(points: readonly Point[] | undefined, of: (point: Point) => number | null): number | null {
  for (let i = (points?.length ?? 0) - 1; i >= 0; i--) {
    const found = of(points?.[i] as Point);
    if (found !== null) return found;
  }
  return null;
}

/** Whether any of the points has such a value. */
export const has = (points: Point[], of: (point: Point) => number | null): boolean => points.some((point) => of(point) !== null);

/** How the share that is lost is titled where packets go this way; null where the curves of each way show it. */
export function lossWords(direction: Schemas['ProbeDirection'] | undefined): { title: string; unit: string } | null {
  switch (direction) {
    case 'reverse':
      return null;
    case 'forward':
      return { title: 'Lost', unit: 'loss ratio of the packets up to the last one that arrived' };
    case 'both':
      return { title: 'Lost, of both directions together', unit: 'loss ratio of the packets of each direction up to the last one that arrived' };
    default:
      return { title: 'Lost', unit: 'loss ratio of the packets whose waiting time has passed' };
  }
}

/** What the one-way delays of a measurement are, in words. */
export function kindWords(kind: Schemas['DelayKind'] | undefined): string {
  return kind === 'absolute'
    ? 'absolute: both hosts use the same clock'
    : 'above the minimum so far: clock offset unknown, skew not yet removed';
}
