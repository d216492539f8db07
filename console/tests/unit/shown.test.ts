// What the page shows, computed: axes and legends, samples, what came of a measurement, words.

import { describe, expect, it } from 'vitest';
import { legend, range } from '../../src/lib/axis';
import { rowFault } from '../../src/lib/markov';
import { title } from '../../src/lib/named';
import { plain } from '../../src/lib/plain';
import { faultWords, leftWords } from '../../src/lib/plan';
import { second, type Tick } from '../../src/lib/rates';
import { samples } from '../../src/lib/samples';
import { come, latest, past, standing } from '../../src/lib/watched';

describe('axes', () => {
  it('of shares span no more than there can be, and of a constant 0 something', () => {
    expect(range(0, 0, { zero: true, least: 0.01, most: 1 })).toEqual([0, 0.0106]);
    expect(range(1, 1, { zero: true, least: 0.01, most: 1 })).toEqual([0, 1]);
    expect(range(null, null, { zero: true, least: 0.01 })).toEqual([0, 0.01]);
  });
  it('begin at 0 where that is asked for, and never below where no value is', () => {
    expect(range(19, 20, { zero: true })[0]).toBe(0);
    expect(range(1, 100)[0]).toBe(0);
    const [low, high] = range(19, 20);
    expect(low).toBeLessThan(19);
    expect(low).toBeGreaterThan(18);
    expect(high).toBeGreaterThan(20);
    expect(range(-5, 5, { zero: true })[0]).toBeLessThan(-5);
  });
});

describe('legends', () => {
  it('tell the value of now without a cursor, and where there is none that there is none', () => {
    expect(legend([1, 2, 3], null, true)).toBe(3);
    expect(legend([1, 2, null], null, true)).toBeNull();
    expect(legend([1, 2, null], null, false)).toBe(2);
    expect(legend([1, 2, 3], 0, true)).toBe(1);
  });
});

describe('samples', () => {
  it('hold the time at the rate apart from what the emulator is late', () => {
    const [one, other] = samples('ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement,rate_queue_ns\n0,0,a,102,0,4083000,0,sent,0,0,4080000\n1,0,a,102,9000000,9003000,1,sent,0,0,\n');
    // 102 octets at 200 kbit/s take 4.08 ms: no fault of the emulator's.
    expect([one?.actual, one?.rateQueue, one?.overhead]).toEqual([4_083_000, 4_080_000, 3_000]);
    expect([other?.rateQueue, other?.overhead]).toEqual([null, 3_000]);
  });
});

describe('delays of a second', () => {
  const summary = (count: number, mean: number | null) => ({ count, mean, median: mean, p99: mean, max: mean });
  const way = (left: number, total: number, rated: number) => ({
    received_octets: null, transmitted_octets: null, received: left, transmitted: left, queued: 0, duplicates_created: 0, lost: {}, corrupted: 0, reordered: 0, overtaken: 0, balance: 0, link: 'up',
    requested_delay_ns: summary(left, 0), actual_delay_ns: summary(left, 165), total_delay_ns: summary(left, total), delay_error_ns: summary(left, 165), queue_depth: summary(0, null),
    rate_queue_ns: summary(rated, rated ? 490e6 : null), inter_arrival_ns: summary(0, null), inter_departure_ns: summary(0, null),
  });
  const tick = (at_ms: number, one: ReturnType<typeof way>): Tick => ({ at_ms, version: 1, a_to_b: one, b_to_a: one });
  it('are those that packets got in all, and the part of the rate is of those that met it', () => {
    const found = second(tick(0, way(100, 200, 0)), tick(1000, way(200, 245e6, 100)));
    expect(found?.a_to_b.total).toBeCloseTo(490e6 - 200, 0);
    expect(found?.a_to_b.queue).toBe(490e6);
    expect(found?.a_to_b.actual).toBe(165);
    expect(second(tick(0, way(100, 200, 0)), tick(1000, way(200, 200, 0)))?.a_to_b.queue).toBeNull();
  });
});

describe('what came of a measurement', () => {
  const there = { median_ns: 5, p99_ns: 7, jitter_rfc3550_ns: null, sent: null, arrived: null };
  const interval = (elapsed: number, stream = 0) => ({ stream, elapsed_ns: elapsed * 1e9, sent: 10, returned: 8, settled: 10, lost: 1, outstanding: 1, forward: there, reverse: there, round_trip: there, inter_arrival_median_ns: 2, inter_arrival_max_ns: 3 });
  it('is there again after a reload, with what came meanwhile behind it', () => {
    const now = past([interval(1), interval(2), interval(1, 1)], {});
    expect(now[0]?.map((point) => point.x)).toEqual([1, 2]);
    expect(now[0]?.[0]).toMatchObject({ forward: { median: 5, p99: 7, jitter: null }, between: { median: 2, max: 3 } });
    expect(now[0]?.[0]?.loss).toBeCloseTo(0.1, 12);
    const [apart] = past([{ ...interval(1), forward: { ...interval(1).forward, sent: 100, arrived: 97 } }], {})[0] ?? [];
    expect([latest(now[0], (point) => point.forward.median), latest(now[0], (point) => point.forward.jitter), latest(undefined, (point) => point.x)]).toEqual([5, null, null]);
    const unknown = { ...now[0]![0]!, forward: { ...now[0]![0]!.forward, median: null } };
    expect(latest([now[0]![0]!, unknown], (point) => point.forward.median)).toBe(5);
    expect([apart?.forward.lost, apart?.reverse.lost]).toEqual([expect.closeTo(0.03, 12), null]);
    const later = past([interval(1), interval(2)], { 0: [2, 3].map((x) => ({ ...now[0]![0]!, x })) });
    expect(later[0]?.map((point) => point.x)).toEqual([1, 2, 3]);
  });
  it('is no success where nothing came back', () => {
    const job = (returned: number, state: 'done' | 'partial', direction: 'round_trip' | 'forward') => ({ state, streams: [{ returned }], request: { direction } }) as unknown as Parameters<typeof standing>[0];
    expect(standing(job(0, 'done', 'round_trip'))).toEqual({ words: 'done, no reply', tone: 'bad' });
    expect(standing(job(1, 'done', 'round_trip'))).toEqual({ words: 'done', tone: 'good' });
    expect(standing({ ...job(1, 'done', 'round_trip'), failed_limits: ['a', 'b'] })).toEqual({ words: 'done, 2 limits failed', tone: 'bad' });
    expect(standing({ ...job(1, 'done', 'round_trip'), failed_limits: [] }).tone).toBe('good');
    expect(come(job(0, 'done', 'forward'))).toBe('something');
    expect(standing(job(0, 'partial', 'round_trip'))).toEqual({ words: 'partial', tone: 'warn' });
  });
});

describe('words', () => {
  it('of others turn nothing round', () => {
    expect(plain('a\u202eb\u2066c')).toBe('a⟨U+202E⟩b⟨U+2066⟩c');
    expect(plain('שלום und π')).toBe('שלום und π');
  });
  it('of findings are written as names are', () => {
    expect(['nic-stamps', 'rp-filter', 'xdp-modes', 'stolen-time'].map(title)).toEqual(['NIC stamps', 'Reverse-path filter', 'XDP modes', 'Stolen time']);
  });
  it('of a row that is no distribution say what it must be', () => {
    expect(rowFault([0.9, 0.47])).toBe('sums to 1.37; it must sum to 1');
  });
  it('of a fault in a form\'s plan have no place in a text that nobody wrote', () => {
    expect(faultWords('(plan:5:15): bad value (--frame-sizes): 63 is too small')).toBe('63 is too small');
    expect(faultWords('the plan cannot be used (plan:4:13): bad value (--line-rate): "10" has no unit')).toBe('"10" has no unit');
    expect(faultWords('the loads cannot be used (--loads): none')).toBe('the loads cannot be used (--loads): none');
  });
  it('of what is left run down, and tell when it takes longer', () => {
    expect([leftWords(5.72e9, 0), leftWords(5.72e9, 3000), leftWords(5.72e9, 9000)]).toEqual(['6 s left', '3 s left', 'longer than expected']);
  });
});
