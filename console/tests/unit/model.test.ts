import { describe, expect, it } from 'vitest';
import source from '../../../crates/io/report/src/causes.rs?raw';
import { askedFor, asksAnything, meanDelay, share } from '../../src/lib/asked';
import { CAUSES, causesOf } from '../../src/lib/causes';
import { byOthers, changes, fileChanges, History, standsSame, type Known, type Stands } from '../../src/lib/changes';
import { addressOf, codePoint, headersOf, matched, within } from '../../src/lib/flow';
import { besides, did, frame, rate, span } from '../../src/lib/beside';
import { curve, mixture } from '../../src/lib/density';
import { displacements } from '../../src/lib/displacement';
import { onWire } from '../../src/lib/onwire';
import { spells } from '../../src/lib/spells';
import { modelOf, STAGES, withModel } from '../../src/lib/forms';
import { absorbing, absorbingWords, completed, fourStateLoss, fourStateMatrix, gilbert, gilbertFault, gilbertLoss, linearSequence, overall, rowFault, stationary, visits } from '../../src/lib/markov';
import { axis, clock, moment, zone } from '../../src/lib/moment';
import { named } from '../../src/lib/named';
import { distribution, pairs, present } from '../../src/lib/overlay';
import { curves, fieldOf, FRESH, plan, sizesOf } from '../../src/lib/plan';
import { lossRatio, lossSeen, shares } from '../../src/lib/ledger';
import { bits, nanoseconds, numberOf, percent, probability, so, time, told, wholeNumbers, written } from '../../src/lib/quantity';
import { byPort, samples } from '../../src/lib/samples';
import { csv, meanBetween, second, type Tick } from '../../src/lib/rates';
import { empirical, logFaults, mahimahiFaults, phamFaults } from '../../src/lib/trace';
import { KINDS, seedFaults, seedOf, traffic } from '../../src/lib/traffic';
import { zoomed } from '../../src/lib/zoom';
import { has, lossWords, MOST, taken, type Points } from '../../src/lib/watched';

describe('quantities', () => {
  it('are read with their units, and not without', () => {
    expect(nanoseconds('30ms')).toBe(30e6);
    expect(nanoseconds('1m30s')).toBe(90e9);
    expect(nanoseconds('2.5s')).toBe(2.5e9);
    for (const text of ['30', '', 'ms', '30 parsecs', '-1s', 30]) expect(nanoseconds(text)).toBeNull();
    expect(probability('30%')).toBe(0.3);
    expect(probability(0.25)).toBe(0.25);
    for (const text of ['150%', 2, -0.1, 'x', '']) expect(probability(text)).toBeNull();
  });
  it('are whole where they count something', () => {
    expect(wholeNumbers({ count: ' 3000 ', bundle: '' })).toEqual({});
    for (const text of ['1,000', 'abc', '0', '-1', '1e3', '2.5', '9'.repeat(30)]) expect(Object.keys(wholeNumbers({ count: text }))).toEqual(['count']);
  });
  it('are shown in the unit that suits them', () => {
    expect(time(30_000_000)).toBe('30 ms');
    expect(time(1234)).toBe('1.234 µs');
    expect(time(null)).toBe('–');
    expect(percent(0.01)).toBe('1 %');
    expect(nanoseconds(written(28_180))).toBe(28_180);
  });
  it('of the server have the units of the page, and counts their number', () => {
    expect(told('it is 30.7 us late, and 1\u00a0us; use it, 5 users')).toBe('it is 30.7 µs late, and 1\u00a0µs; use it, 5 users');
    expect([so(1, 'step'), so(2, 'step'), so(0, 'run'), so(1, 'scenario was', 'scenarios were')]).toEqual(['1 step', '2 steps', '0 runs', '1 scenario was']);
  });
});

describe('numbers that are typed', () => {
  it('are numbers where the text says one, and stay text where it does not or a number would be another', () => {
    const said = ['.01', '.05', '1e-10', '1e-05', '-0.5', '-.5', '+.5', '12', '0', '1.', '00.1'];
    expect(said.map(numberOf)).toEqual([0.01, 0.05, 1e-10, 1e-5, -0.5, -0.5, 0.5, 12, 0, 1, 0.1]);
    for (const text of ['', '-', '.', '1e', '1e-', '0,05', '1%', '0x10', 'Infinity', '1_000', '99999999999999999999', '1e-400', '1e400', '30ms']) expect(numberOf(text), text).toBeNull();
  });
  it('as words of a seed are each told apart', () => {
    expect(seedFaults([0, 4294967295, 4294967296, '99999999999999999999', 1.5, 'abc']).map(Boolean)).toEqual([false, false, true, true, true, true]);
  });
});

describe('moments', () => {
  const at = new Date(2026, 10, 23, 15, 4, 5, 678);
  it('are by the clock of this machine, of 24 hours, with its zone', () => {
    expect(moment(at)).toMatch(/^2026-11-23 15:04:05 UTC([+-]\d\d:\d\d)?$/);
    expect(moment(at.toISOString())).toBe(moment(at));
    expect(clock(at, 3)).toBe('15:04:05.678');
    expect(moment('not yet')).toBe('not yet');
    const of = (minutes: number) => zone({ getTimezoneOffset: () => minutes } as Date);
    expect([of(0), of(-60), of(-345), of(210)]).toEqual(['UTC', 'UTC+01:00', 'UTC+05:45', 'UTC-03:30']);
  });
  it('stand below an axis with the day where it begins', () => {
    const midnight = new Date(2026, 10, 24).getTime() / 1000;
    expect(axis([midnight - 60, midnight - 30, midnight, midnight + 30])).toEqual(['23:59:00\n2026-11-23', '23:59:30', '00:00:00\n2026-11-24', '00:00:30']);
    expect(axis([midnight, midnight + 0.25])[1]).toBe('00:00:00.250');
  });
});

describe('Markov chains', () => {
  it('have shares that follow from matrix and durations', () => {
    // The seed's example: a loss of bursts of ten packets.
    const matrix = [[0.97, 0.03], [0.99, 0.01]];
    const shares = visits(matrix) as number[];
    expect(shares[0]).toBeCloseTo(0.99 / 1.02, 12);
    const weighted = stationary(matrix, [1, 10]) as number[];
    expect(overall(weighted, [0, 1])).toBeCloseTo((0.03 * 10) / (0.99 + 0.03 * 10), 12);
  });
  it('with states that are left for ever count only those that stay', () => {
    expect(visits([[0, 1, 0], [0, 0.5, 0.5], [0, 1, 0]])?.[0]).toBe(0);
    // Which of two closed parts it ends in is chance.
    expect(visits([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]])).toBeNull();
    expect(visits([[1]])).toEqual([1]);
  });
  it('go round in a linear sequence, each state as often as the others', () => {
    for (const share of visits(linearSequence(5)) as number[]) expect(share).toBeCloseTo(0.2, 12);
  });
  it('have rows that sum to 1', () => {
    expect(rowFault([0.5, 0.5])).toBeNull();
    expect(rowFault([0.5, 0.4])).toContain('0.9');
    expect(rowFault([null, 1])).not.toBeNull();
  });
  it('of Gilbert and Elliott are found from loss and burst, and give the loss back', () => {
    const found = gilbert(0.02, 4) as { p: number; r: number };
    expect(gilbertLoss(found.p, found.r, 0, 1)).toBeCloseTo(0.02, 12);
    expect(gilbert(0, 4)).toBeNull();
    expect(gilbert(0.9, 1)).toBeNull();
  });
  it('of four states lose what they should', () => {
    // Only single losses: each follows a good packet, with probability p14.
    expect(fourStateLoss(0, 0.5, 0, 0.5, 0.1)).toBeCloseTo(0.1 / 1.1, 12);
    for (const row of fourStateMatrix(0.01, 0.3, 0.1, 0.5, 0.001)) expect(rowFault(row)).toBeNull();
  });
});

describe('densities', () => {
  const area = (variable: Record<string, unknown>) => {
    const points = curve(variable)?.points ?? [];
    return points.slice(1).reduce((sum, [x, y], i) => sum + (((x - (points[i]?.[0] ?? 0)) / 1e6) * (y + (points[i]?.[1] ?? 0))) / 2, 0);
  };
  it('hold all there is, but for tails', () => {
    expect(area({ model: 'uniform', low: '1ms', high: '3ms' })).toBeCloseTo(1, 6);
    expect(area({ model: 'normal', mean: '5ms', stddev: '1ms' })).toBeCloseTo(1, 3);
    expect(area({ model: 'normal', mean: '1ms', stddev: '1ms' })).toBeCloseTo(1, 2);
    expect(area({ model: 'exponential', mean: '5ms' })).toBeCloseTo(1, 2);
    expect(area({ model: 'gamma', scale: '1ms', shape: 2 })).toBeGreaterThan(0.98);
  });
  it('of a file are its histogram', () => {
    const files = { 'd.txt': 'delay_ms\n1\n2\n2\n5\n' };
    const found = curve({ model: 'empirical', file: 'd.txt' }, files);
    expect(found?.mean).toBe(2.5e6);
    const points = found?.points ?? [];
    expect(points.slice(1).reduce((sum, [x, y], i) => sum + (((x - (points[i]?.[0] ?? 0)) / 1e6) * (y + (points[i]?.[1] ?? 0))) / 2, 0)).toBeCloseTo(1, 9);
    expect(curve({ model: 'empirical', file: 'd.txt' }, { 'd.txt': 'x' })).toBeNull();
  });
  it('of chains are those of their states by their shares, fixed delays as atoms', () => {
    const uniform = { model: 'uniform', low: '0ms', high: '2ms' };
    const found = mixture([{ share: 0.25, fixed: 10e6, variable: uniform }, { share: 0.75, fixed: 5e6, variable: undefined }, { share: 0, fixed: 0, variable: { model: 'none' } }]);
    expect(found?.atoms).toEqual([[5e6, 0.75]]);
    expect(found?.curve?.mean).toBeCloseTo(0.25 * 11e6 + 0.75 * 5e6, 3);
    expect(Math.max(...(found?.curve?.points ?? []).map(([, y]) => y))).toBeCloseTo(0.25 * 0.5, 12);
    expect(mixture([{ share: 1, fixed: 0, variable: { model: 'uniform', low: '3', high: '2ms' } }])).toBeNull();
  });
  it('are not drawn from what is not complete', () => {
    expect(curve({ model: 'normal', mean: '5', stddev: '1ms' })).toBeNull();
    expect(curve(undefined)).toBeNull();
    expect(curve({ model: 'pareto', scale: '1ms', shape: 0.9 })?.note).toContain('infinite');
  });
});

describe('stages', () => {
  it('keep what two models have in common', () => {
    expect(withModel('loss', 'correlated', { model: 'bernoulli', probability: 0.3 })).toEqual({ model: 'correlated', probability: 0.3, correlation: 0.25 });
    expect(withModel('loss', 'none', { probability: 0.3 })).toBeUndefined();
  });
  it('know their model without one being written', () => {
    expect(modelOf('loss', { probability: 0.1 })).toBe('bernoulli');
    expect(modelOf('delay', { fixed: '1ms' })).toBe('plain');
    expect(modelOf('rate', undefined)).toBe('none');
    for (const [stage, form] of Object.entries(STAGES)) {
      for (const model of form.models) expect(modelOf(stage, withModel(stage, model.value, undefined))).toBe(model.value);
    }
  });
});

describe('changes', () => {
  it('are told field by field', () => {
    const before = { a_to_b: { loss: { probability: 0.01 }, delay: { fixed: '1ms' } } };
    const after = { a_to_b: { loss: { probability: 0.02 } }, flow: [{ match: { dscp: 46 } }] };
    expect(changes(before, after)).toEqual([
      { path: 'a_to_b.delay.fixed', before: '1ms', after: null },
      { path: 'a_to_b.loss.probability', before: '0.01', after: '0.02' },
      { path: 'flow[1].match.dscp', before: null, after: '46' },
    ]);
    expect(changes(before, structuredClone(before))).toEqual([]);
  });
  it('are told in the words of the form', () => {
    const words = (path: string) => named(path).words;
    expect(words('a_to_b.delay.fixed')).toBe('a → b › Delay › Fixed part');
    expect(words('b_to_a.delay.variable.distribution.stddev')).toBe('b → a › Delay › Variable part › Distribution › Standard deviation');
    expect(words('a_to_b.loss.state[2].probability')).toBe('a → b › Loss › State 2 › Probability');
    expect(words('a_to_b.delay.state[1].variable.mean')).toBe('a → b › Delay › State 1 › Variable part › Mean');
    expect(words('a_to_b.reorder.state[1].displacement.low')).toBe('a → b › Reorder › State 1 › Displacement › Minimum');
    expect(words('flow[2].match.destination_port')).toBe('Flow 2 › Matches › Destination port');
    expect(words('timeline[1].b_to_a.rate.queue.bytes')).toBe('Step 1 › b → a › Rate › Queue › Size');
    expect(words('trace.file')).toBe('Trace › File');
    expect(named('a_to_b.loss.model').value('gilbert-elliott')).toBe('Gilbert-Elliott');
    expect(named('a_to_b.rate.queue.discipline').value('codel')).toBe('CoDel');
    expect(named('a_to_b.rate.layer').value('l2')).toBe('layer 2: frames with FCS');
    expect(named('a_to_b.delay.fixed').value('30ms')).toBe('30ms');
    // Every field that the form writes has words, and no key of a file.
    const keys = (table: Record<string, unknown>, path: string): string[] => Object.entries(table).flatMap(([key, value]) => Array.isArray(value) ? [] : typeof value === 'object' && value !== null ? keys(value as Record<string, unknown>, `${path}.${key}`) : [`${path}.${key}`]);
    for (const [stage, form] of Object.entries(STAGES)) {
      for (const model of form.models) {
        for (const path of keys({ ...withModel(stage, model.value, undefined) }, `a_to_b.${stage}`)) expect(words(path)).not.toMatch(/_|› [a-z ]+$/);
      }
    }
  });
  it('of others are told from those of this page, and another emulation is none', () => {
    const of = (fixed: string, more: Partial<Known> = {}): Known => ({ started: 'x', tag: '"1"', scenario: { seed: [1], a_to_b: { delay: { fixed } } }, files: {}, ...more });
    expect(byOthers(of('1ms'), of('2ms')).map((one) => [one.path, one.before, one.after])).toEqual([['a_to_b.delay.fixed', '1ms', '2ms']]);
    expect(byOthers(of('1ms'), of('1ms', { tag: '"2"', scenario: { seed: [2], a_to_b: { delay: { fixed: '1ms' } } } }))).toEqual([]);
    expect(byOthers(of('1ms', { files: { 't.csv': '1\n' } }), of('1ms', { files: { 't.csv': '2\n' } }))).toHaveLength(1);
    expect(byOthers(of('1ms'), of('2ms', { started: 'y' }))).toEqual([]);
    expect(byOthers(null, of('2ms'))).toEqual([]);
  });
  it('go back and forth', () => {
    const history = new History('a');
    history.push('b');
    history.push('b');
    history.push('c');
    expect([history.undo(), history.undo(), history.undo()]).toEqual(['b', 'a', 'a']);
    expect([history.redo(), history.canRedo]).toEqual(['b', true]);
    history.push('d');
    expect(history.canRedo).toBe(false);
  });
  it('leave out what could not be used on the way', () => {
    const history = new History('5s');
    history.push('5');
    history.passes('5');
    history.push('50ms');
    expect([history.undo(), history.canUndo]).toEqual(['5s', false]);
    // What is not there any more passes nothing, and what leads back is no step.
    history.passes('5');
    history.push('6');
    history.passes('6');
    history.push('5s');
    expect([history.canUndo, history.canRedo]).toEqual([false, false]);
  });
});

describe('steps with files', () => {
  it('know the lines of a trace', () => {
    const at = (lines: string): Stands => ({ text: '{"a_to_b":{}}', files: { t: lines } });
    const history = new History<Stands>(at('10'), standsSame);
    history.push(at('10'));
    expect(history.canUndo).toBe(false);
    history.push(at('5'));
    expect([history.undo().files.t, history.redo().files.t]).toEqual(['10', '5']);
  });
});

describe('a diagonal', () => {
  it('is completed where the other entries of its row allow it', () => {
    expect([completed([0.9, 0.25], 0), completed([null, 0.25], 0), completed([1, 1], 0)]).toEqual([0.75, 0.75, 0]);
    expect([completed([0.5, 1.5], 0), completed([0.5, null], 0), completed([0, 0.6, 0.6], 0)]).toEqual([null, null, null]);
  });
});

describe('seconds', () => {
  const summary = (count: number, mean: number | null) => ({ count, mean, median: mean, p99: mean, max: mean });
  const way = (received: number, lost: number) => ({
    received_octets: received * 100, transmitted_octets: null, received, transmitted: received - lost, queued: 0, duplicates_created: 0, lost: { model: lost, queue: 0 }, corrupted: 0, reordered: 0, overtaken: 0, balance: 0,
    requested_delay_ns: summary(received, 10), actual_delay_ns: summary(received, 11), total_delay_ns: summary(received, 500), delay_error_ns: summary(received, 1),
    queue_depth: summary(0, null), rate_queue_ns: summary(0, null), inter_arrival_ns: summary(0, null), inter_departure_ns: summary(0, null), link: 'up',
  });
  const tick = (at_ms: number, received: number, lost: number): Tick => ({ at_ms, version: 1, a_to_b: way(received, lost), b_to_a: way(0, 0) });
  it('are what came between two ticks', () => {
    const one = second(tick(1000, 100, 10), tick(3000, 300, 30));
    expect(one?.a_to_b.received).toBe(100);
    expect([one?.a_to_b.receivedBits, one?.a_to_b.transmittedBits]).toEqual([80_000, null]);
    expect(bits(one?.a_to_b.receivedBits)).toBe('80 kbit/s');
    expect(one?.a_to_b.lostAll).toBe(10);
    expect(one?.a_to_b.lossRatio).toBeCloseTo(0.1, 12);
    expect(one?.b_to_a.lossRatio).toBeNull();
    expect(second(tick(1000, 100, 0), tick(2000, 50, 0))).toBeNull();
  });
  it('are a table with what was lost by each cause', () => {
    const one = second(tick(1000, 100, 10), tick(3000, 300, 30));
    const [head, line] = csv(one ? [one] : []).split('\n').map((text) => text.split(','));
    const of = (name: string) => line?.[head?.indexOf(name) ?? -1];
    expect(line?.length).toBe(head?.length);
    expect([of('time_utc'), of('a_to_b.received_pps'), of('a_to_b.received_l2_bps'), of('a_to_b.transmitted_l2_bps')]).toEqual(['1970-01-01T00:00:03.000Z', '100', '80000', '']);
    expect([of('a_to_b.lost_pps'), of('a_to_b.lost_model_pps'), of('a_to_b.lost_queue_pps'), of('b_to_a.lost_model_pps')]).toEqual(['10', '10', '0', '0']);
    expect([of('a_to_b.loss_ratio'), of('a_to_b.balance_packets')]).toEqual(['0.1', '0']);
  });
  it('have the mean of what is new in a growing sample', () => {
    expect(meanBetween(summary(10, 5), summary(20, 10))).toBe(15);
    expect(meanBetween(summary(10, 5), summary(10, 5))).toBeNull();
    expect(meanBetween(summary(10, 5), summary(3, 7))).toBe(7);
  });
});

describe('overlays', () => {
  it('hold streams to one target against each other, each once, and else those in one place', () => {
    const of = (...targets: string[]) => targets.map((target) => ({ target }));
    expect(pairs(of('x', 'y'), of('y', 'x', 'z'))).toEqual([[0, 1], [1, 0]]);
    expect(pairs(of('x', 'x'), of('x', 'x'))).toEqual([[0, 0], [1, 1]]);
    expect(pairs(of('x', 'y'), of('z'))).toEqual([[0, 0]]);
  });
  it('lay histograms with different bins over one axis', () => {
    const found = distribution([{ bin_edges_ns: [0, 10, 20], counts: [1, 1] }, null, { bin_edges_ns: [5, 15], counts: [4] }]);
    expect(found?.x).toEqual([0, 5, 10, 15, 20]);
    expect(found?.values[0]).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(found?.values[2]).toEqual([0, 0, 0.5, 1, 1]);
    expect(distribution([null, null])).toBeNull();
  });
  it('name the runs without a curve, and draw none for them', () => {
    const found = present(['a', 'b'], [[0, 1], [null, null]]);
    expect(found).toEqual({ drawn: [{ of: 'a', values: [0, 1] }], absent: ['b'] });
  });
});

describe('shares of what an emulation did', () => {
  // Loss 40 %, and a copy of each packet: copies come after the losses and never meet them.
  const counts = { received: 1605, transmitted: 1950, duplicates_created: 975, reordered: 195, corrupted: 390, lost: { model: 630, queue: 0 } };
  it('are of the packets that reach their stage', () => {
    const found = shares(counts);
    expect([found.first, found.later, found.duplicated, found.reordered, found.corrupted]).toEqual([630 / 1605, 0, 1, 0.1, 0.2]);
    expect(lossRatio(counts)).toBeCloseTo(0.3925, 4);
    expect(lossSeen(counts, false)).toBeCloseTo(0.3925, 4);
  });
  it('put what is lost behind the copies over packets and copies', () => {
    const queued = { ...counts, transmitted: 1560, lost: { model: 605, kernel: 25, queue: 390 } };
    expect(lossRatio(queued)).toBeCloseTo(1 - (975 / 1605) * 0.8, 12);
    // Nothing of a packet arrives where both it and its copy are lost.
    expect(lossSeen(queued, false)).toBeCloseTo(630 / 1605 + (975 / 1605) * 0.04, 12);
  });
  it('are none where nothing came', () => {
    const none = { received: 0, transmitted: 0, duplicates_created: 0, reordered: 0, corrupted: 0, lost: {} };
    expect([lossRatio(none), lossSeen(none, true), shares(none).duplicated]).toEqual([null, null, null]);
  });
  it('count what is damaged among the lost where its checksums tell it', () => {
    const damaged = { ...counts, received: 1000, duplicates_created: 0, transmitted: 1000, corrupted: 200, lost: {} };
    expect([lossSeen(damaged, true), lossSeen(damaged, false)]).toEqual([expect.closeTo(0.2, 12), 0]);
    const asked = (corrupt: object, more = {}) => askedFor({ a_to_b: { corrupt: { probability: 0.2, ...corrupt }, ...more } }, 'a_to_b');
    expect(asked({})).toMatchObject({ loss: expect.closeTo(0.2, 12), corrupted: 0.2, damageKills: true });
    expect(asked({}).notes.join()).toContain('measured as lost');
    expect(asked({ repair_checksum: true })).toMatchObject({ loss: 0, corrupted: 0.2, damageKills: false });
    expect(asked({ repair_checksum: true }).notes.join()).toContain('repaired checksums arrive');
    expect(asked({}, { loss: { probability: 0.5 } }).loss).toBeCloseTo(0.6, 12);
    // The copy of a damaged packet stands in for it.
    expect(asked({}, { duplicate: { probability: 1 } }).loss).toBeCloseTo(0.04, 12);
  });
});

describe('measured beside emulated', () => {
  it('has delay and rate of the emulator, where they are known', () => {
    const counts = { received: 10, transmitted: 9, duplicates_created: 0, lost: { model: 1 }, corrupted: 0, reordered: 0, received_octets: 1000, transmitted_octets: 900, requested_delay_mean_ns: 5, actual_delay_mean_ns: 6, total_delay_mean_ns: null, rate_queue_mean_ns: null };
    expect(did(counts)).toMatchObject({ delay: 6, queue: null, octets: 900, lost: { model: 1 } });
    // What the emulator did to packets has the rate's queue in it.
    expect(did({ ...counts, total_delay_mean_ns: 493e6, rate_queue_mean_ns: 480e6 })).toMatchObject({ delay: 493e6, queue: 480e6 });
    expect(did(null)).toBeNull();
    // Nine gaps of 20 ms between ten packets.
    const length = span({ inter_arrival_ns: { count: 9, mean: 20e6 } } as never);
    expect(rate(900, length)).toBeCloseTo(40_000, 9);
    expect(rate(null, length)).toBeNull();
    expect(span({ inter_arrival_ns: { count: 0, mean: null } } as never)).toBeNull();
    expect([frame({ packet_octets: 72 }), frame({ packet_octets: 30 }), frame({ packet_octets: null })]).toEqual([90, 64, null]);
  });
  it('has the settings of the flow that the packets belong to', () => {
    const scenario = {
      a_to_b: { loss: { probability: 0.1 }, delay: { fixed: '1ms' } },
      flow: [
        { match: { dscp: 'af41' }, a_to_b: { loss: { probability: 0.2 } } },
        { match: { dscp: 'ef', protocol: 'udp', destination: '198.18.0.0/24' }, a_to_b: { delay: { fixed: '30ms' } } },
      ],
      timeline: [{ at: '1s', a_to_b: { loss: { probability: 0.5 } } }],
    };
    const measurement = (dscp: number) => ({ target: '198.18.0.3:862', traffic: { dscp }, forward: { dscp: { sent: dscp } }, reverse: { dscp: { sent: dscp } } }) as never;
    const flow = (dscp: number) => matched(scenario, headersOf(measurement(dscp), 'forward')).flow;
    expect([flow(46), flow(34), flow(0)]).toEqual([1, 0, null]);
    // A flow replaces the top level of a direction whole, and the timeline does not change it.
    expect(askedFor(scenario, 'a_to_b', false, [2e9, 3e9], flow(46))).toMatchObject({ loss: 0, delay: 30e6, notes: [] });
    expect(askedFor(scenario, 'a_to_b', false, [2e9, 3e9], flow(0))).toMatchObject({ loss: 0.5, delay: 1e6 });
    // A direction that the flow leaves out has the settings of the top level.
    expect(askedFor({ ...scenario, b_to_a: { loss: { probability: 0.3 } } }, 'b_to_a', false, null, 1).loss).toBe(0.3);
    // Replies come from the target.
    expect(matched({ flow: [{ match: { source: '198.18.0.3' } }] }, headersOf(measurement(0), 'reverse')).flow).toBe(0);
    // What is not known decides nothing.
    expect(matched({ flow: [{ match: { dscp: 46, vlan: 7 } }, { match: { dscp: 46 } }] }, headersOf(measurement(46), 'forward'))).toEqual({ flow: null, undecided: ['vlan'] });
    expect(matched({ flow: [{ match: { dscp: 1, vlan: 7 } }, { match: { dscp: 46 } }] }, headersOf(measurement(46), 'forward')).flow).toBe(1);
  });
  it('knows addresses and code points', () => {
    expect(['ef', 'AF41', 'cs5', 'le', 10, '12', 'x'].map(codePoint)).toEqual([46, 34, 40, 1, 10, 12, null]);
    expect([within('192.0.2.0/24', '192.0.2.9'), within('192.0.2.0/24', '192.0.3.9'), within('2001:db8::/32', '2001:db8:7::1'), within('2001:db8::/32', '2001:db9::1'), within('192.0.2.1', '192.0.2.1'), within('192.0.2.0/24', 'host')]).toEqual([true, false, true, false, true, null]);
    expect([addressOf('198.18.0.3:862'), addressOf('[2001:db8::1]:862'), addressOf('2001:db8::1'), addressOf('voice.example')]).toEqual(['198.18.0.3', '2001:db8::1', '2001:db8::1', null]);
  });
  it('says what passed besides the probes, and where not all of them did', () => {
    expect(besides(359, 300, 'a → b')).toMatch(/^59 of the 359 packets .* a → b were not probes/);
    expect(besides(299, 300, 'b → a')).toMatch(/received 299 packets b → a, but 300 were sent/);
    expect([besides(300, 300, 'a → b'), besides(300, null, 'a → b'), besides(undefined, 300, 'a → b')]).toEqual([null, null, null]);
  });
  it('knows whether anything is asked for', () => {
    for (const nothing of [{}, { seed: [1], about: { title: 'x' } }, { a_to_b: {} }, { flow: [{ match: { dscp: 1 } }] }]) expect(asksAnything(nothing)).toBe(false);
    for (const something of [{ a_to_b: { delay: { fixed: '1ms' } } }, { trace: { file: 'x' } }, { flow: [{ b_to_a: { loss: {} } }] }, { timeline: [{ at: '1s', a_to_b: { loss: {} } }] }]) expect(asksAnything(something)).toBe(true);
  });
});

describe('traces', () => {
  it('are told line by line what is wrong with them', () => {
    expect(phamFaults('port,loss,duplication,reorder_distance,delay_us\n1,0,0,0,10\n')).toEqual([]);
    expect(phamFaults('1,0,0,0,10\n3,0,0,0,10\n1,0,0\n1,2,0,0,1\n1,0,0,x,1').map((fault) => fault.line)).toEqual([2, 3, 4, 5]);
    expect(phamFaults('')).toHaveLength(1);
    const under = (columns: string) => phamFaults(`${columns}\n1,0,0,0,30\n`);
    for (const last of ['delay_ms', 'delay']) {
      const faults = under(`port,loss,duplication,reorder_distance,${last}`);
      expect(faults.map((fault) => fault.line)).toEqual([1]);
      expect(faults[0]?.why).toContain('delay_us or delay_ms?');
    }
    expect(under('port,loss,reorder_distance,duplication,delay_us')[0]?.why).toContain('has other column names');
  });
  it('say what to write, as the server does', () => {
    const why = (line: string) => phamFaults(line)[0]?.why;
    expect(why('1,0,0,0,-5')).toBe('delay_us is "-5"; write microseconds from 0 to 3600000000 (an hour)');
    expect(why('1,0,0,1.5,0')).toContain('reorder_distance is "1.5"; write a whole number');
    expect(why('1,0,256,0,0')).toContain('up to 255');
    expect(why('1,yes,0,0,0')).toBe('loss is "yes"; write 0 or 1');
    expect(why('1;0;0;0;0')).toContain('semicolons');
    expect(why('1,0,0,2,0')).toContain('trace of 1 entries');
    expect(phamFaults('1,0,0,0,0.125\r\n# told\r2,1,255,1,3600000000')).toEqual([]);
  });
});

describe('other files', () => {
  it('of moments are told line by line what is wrong with them', () => {
    expect(mahimahiFaults('1\n1\n5\n')).toEqual([]);
    expect(mahimahiFaults('1\nx\n5\n3\n').map((fault) => fault.line)).toEqual([2, 4]);
    expect(mahimahiFaults('0\n')[0]?.why).toContain('period');
    expect(mahimahiFaults('\n')).toHaveLength(1);
  });
  it('of delays are read with a unit of their own or of the first line', () => {
    expect(empirical('3ms\n# two\n1.5ms\n')).toEqual({ values: [3e6, 1.5e6], faults: [] });
    expect(empirical('delay_us\n3\n').values).toEqual([3e3]);
    expect(empirical('3ms\n2\n2h\n1ms').faults.map((fault) => fault.line)).toEqual([2, 3]);
    expect(empirical('delay\n3ms\n').faults[0]?.why).toContain('delay_ns');
    expect(empirical('').faults).toHaveLength(1);
  });
  it('of packets have the columns of their first line', () => {
    expect(logFaults('sequence,size,t1_ns,t2_ns\n0,44,1,2\n1,44,3,\n')).toEqual([]);
    expect(logFaults('sequence,size,t1_ns,t2_ns\n0,44,1\n1,44,3,x\n').map((fault) => fault.line)).toEqual([2, 3]);
    expect(logFaults('')).toHaveLength(1);
  });
});

describe('spells', () => {
  it('are geometric, and the longer the more packets resemble each other', () => {
    const alone = spells({ probability: '20%' });
    expect(alone?.shares.slice(0, 2).map((share) => Number(share.toFixed(6)))).toEqual([0.8, 0.16]);
    expect([alone?.mean, alone?.more]).toEqual([1.25, expect.closeTo(0.2 ** 8, 12)]);
    // One that is met is followed by another with 0.1 + 0.25 * 0.9.
    expect(spells({ model: 'correlated', probability: 0.1, correlation: 0.25 })?.mean).toBeCloseTo(1 / (1 - 0.325), 12);
    expect(spells({ probability: 1 })?.mean).toBeNull();
    for (const table of [undefined, {}, { probability: 0 }, { probability: 'x' }, { model: 'correlated', probability: 0.5, correlation: -1.5 }]) expect(spells(table)).toBeNull();
  });
});

describe('a rate', () => {
  it('takes as long as the octets of its layer, and a full queue in proportion', () => {
    // 1,518 octets at 12.144 Mbit/s are a millisecond; 64 of the line are 84.
    expect(onWire({ limit: '12.144Mbit', layer: 'l2', queue: { bytes: '15180B' } })).toEqual({ takes: [expect.closeTo(42161, 0), 1e6], full: 1e7, byPackets: false });
    expect(onWire({ limit: '1MBps', layer: 'l1' })?.takes).toEqual([84_000, 1_538_000]);
    expect(onWire({ limit: '8kbit', layer: 'l3' })?.takes[1]).toBe(1.5e9);
    expect(onWire({ limit: '1kpps', queue: { bytes: '3036B' } })).toEqual({ takes: [1e6, 1e6], full: 2e6, byPackets: true });
    for (const limit of ['10MB', 'fast', '0Mbit', undefined]) expect(onWire({ limit })).toBeNull();
  });
});

describe('displacements', () => {
  it('are the numbers alike, or the normal law rounded', () => {
    expect(displacements({ model: 'uniform', low: 1, high: 4 })).toEqual([[1, 0.25], [2, 0.25], [3, 0.25], [4, 0.25]]);
    const normal = displacements({ model: 'normal', mean: 1, stddev: 1 }) ?? [];
    expect(normal[0]?.[0]).toBe(0);
    expect(normal.reduce((sum, [, p]) => sum + p, 0)).toBeCloseTo(1, 3);
    // Up to 0.5, which is half a standard deviation below the mean.
    expect(normal[0]?.[1]).toBeCloseTo(0.308538, 5);
    expect(displacements({ model: 'uniform', low: 4, high: 1 })).toBeNull();
  });
});

describe('loss and burst length', () => {
  it('that no chain has are told with what is wrong', () => {
    expect(gilbertFault(0.02, 4)).toBeNull();
    expect(gilbertFault(0.1, 0.5)?.burst).toContain('1 or more');
    expect(gilbertFault(0.9, 1)?.burst).toContain('bursts of 9 packets or more');
    expect(gilbertFault(0.9, 9)).toBeNull();
    for (const loss of [0, 1, null]) expect(gilbertFault(loss, 4)?.loss).toContain('between 0 and 1');
  });
});

describe('a chain that ends in a part of its states', () => {
  it('is told with that part, however many states it has', () => {
    expect(absorbingWords([[0.5, 0.5], [0, 1]])).toBe('The chain ends in state 2 (absorbing) and never leaves it.');
    expect(absorbingWords([[0.9, 0.1, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])).toBe('The chain ends in states 2 and 3 (absorbing) and never leaves them.');
    expect(absorbingWords([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]])).toBe('The chain starts in states 1 and 2 (absorbing) and never leaves them.');
    expect(absorbing([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]])).toEqual([[1], [2]]);
    expect(absorbingWords([[0, 0.5, 0.5], [0, 1, 0], [0, 0, 1]])).toContain('one of state 2 or state 3 (absorbing)');
  });
  it('is none where each state comes again, where there is one alone, or while a row is wrong', () => {
    for (const matrix of [[[0.9, 0.1], [0.1, 0.9]], [[1]], linearSequence(4), [[0.5, 0.4], [0, 1]]]) expect(absorbingWords(matrix)).toBeNull();
    // What is never entered is of no account.
    expect(absorbingWords([[0.5, 0.5, 0], [1, 0, 0], [0, 0, 1]])).toBe('The chain starts in states 1 and 2 (absorbing) and never leaves them.');
  });
});

describe('what is asked for', () => {
  const markov = { model: 'markov', step: 'packets', transition: [[0.95, 0.05], [0.9, 0.1]], state: [{ duration: 1, probability: 0 }, { duration: 2, probability: '100%' }] };
  it('follows from each model', () => {
    expect(share(undefined)).toBe(0);
    expect(share({ probability: '5%' })).toBe(0.05);
    expect(share({ model: 'gilbert-elliott', p: 0.1, r: 0.4 })).toBeCloseTo(0.2, 12);
    expect(share(markov)).toBeCloseTo(0.1, 12);
    expect(share({ model: 'four-state', p13: 0, p31: 0.5, p32: 0, p23: 0.5, p14: 0.1 })).toBeCloseTo(0.1 / 1.1, 12);
    expect(meanDelay({ fixed: '30ms', variable: { model: 'uniform', low: '0ms', high: '4ms' } })).toBe(32e6);
    expect(meanDelay({ ...markov, state: [{ duration: 1, fixed: '10ms' }, { duration: 2, fixed: '20ms' }] })).toBeCloseTo(11e6, 3);
    expect(meanDelay({ variable: { model: 'pareto', scale: '1ms', shape: 0.5 } })).toBeNull();
  });
  it('is told of a direction with what it does not say', () => {
    const scenario = { a_to_b: { loss: markov, delay: { fixed: '20ms' }, rate: { limit: '10Mbit', layer: 'l2' } }, timeline: [{ at: '1s' }] };
    const asked = askedFor(scenario, 'a_to_b');
    expect([asked.loss, asked.delay, asked.rate]).toEqual([expect.closeTo(0.1, 12), 20e6, '10Mbit (l2)']);
    expect(asked.notes).toHaveLength(2);
    expect(askedFor(scenario, 'b_to_a').loss).toBe(0);
    expect(askedFor(scenario, 'a_to_b', true)).toMatchObject({ loss: 0, delay: 0 });
    expect(askedFor({ trace: { file: 'x' } }, 'a_to_b').loss).toBeNull();
  });

  it('is what the timeline had made of it when the measurement began', () => {
    const scenario = {
      a_to_b: { loss: { probability: 0.1 }, delay: { fixed: '1ms' } },
      timeline: [{ at: '5s', ramp: '1s', a_to_b: { delay: { fixed: '100ms' } } }, { at: '10s', a_to_b: { loss: { model: 'none' } } }, { at: '20s', b_to_a: { delay: { fixed: '7ms' } } }],
    };
    const asked = (from: number, until: number, more = {}) => askedFor({ ...scenario, ...more }, 'a_to_b', false, [from * 1e9, until * 1e9]);
    const told = (one: { notes: string[] }) => one.notes.some((note) => note.includes('timeline changed these settings'));
    expect(asked(0, 4)).toMatchObject({ loss: 0.1, delay: 1e6 });
    expect(told(asked(0, 4))).toBe(false);
    expect(told(asked(0, 5.5))).toBe(true);
    // Within the ramp nothing holds for long.
    expect(told(asked(5.5, 7))).toBe(true);
    expect(asked(6, 9)).toMatchObject({ loss: 0.1, delay: 100e6 });
    expect(told(asked(6, 9))).toBe(false);
    // The third step is of the other direction.
    expect(asked(12, 30)).toMatchObject({ loss: 0, delay: 100e6, notes: [] });
    const again = { timeline_repeat: { every: '40s' } };
    expect(asked(81, 84, again)).toMatchObject({ loss: 0.1, delay: 1e6 });
    expect(told(asked(81, 84, again))).toBe(false);
    expect(told(asked(75, 81, again))).toBe(true);
    expect(askedFor(scenario, 'a_to_b').notes).toEqual(['the timeline changes these settings: the values at its start are shown']);
  });
});

describe('traffic', () => {
  it('is written as the command line takes it', () => {
    for (const kind of KINDS) expect(traffic(kind.value, {})).toMatch(/^[a-z0-9-]+(:\S+)?$/);
    expect(traffic('talkspurt', {})).toBe('talkspurt:p59@g711');
    expect(traffic('talkspurt', { 'talkspurt.model': 'brady', 'talkspurt.codec': '' })).toBe('talkspurt:brady');
    expect(traffic('onoff', { 'onoff.on': '=1s', 'onoff.off': '0.7*400ms + 0.3*2s' })).toBe('onoff:=1s,0.7*400ms+0.3*2s@g711');
    expect(traffic('token-bucket', { 'token-bucket.depth': '128B' })).toBe('token-bucket:16kBps,128B');
    expect(traffic('opus', { 'opus.rate': '' })).toBe('opus');
  });
  it('has a seed of six numbers', () => {
    expect(seedOf(' ')).toEqual({ seed: null, fault: null });
    expect(seedOf('1, 2,3 4,5,4294967295').seed).toEqual([1, 2, 3, 4, 5, 4294967295]);
    for (const text of ['1,2,3', '1,2,3,4,5,x', '1,2,3,4,5,4294967296', '0,0,0,0,0,0']) expect(seedOf(text).fault).not.toBeNull();
  });
});

describe('plans of benchmarks', () => {
  it('are the TOML of their form, with what its procedure takes', () => {
    const text = plan({ ...FRESH, tx: 'romerA/t0', rx: 'romerB/t1', streams: 'name=voice, share=20%\n', cases: [{ name: 'a "b"', command: 'true' }], labels: 'model=R1=x' });
    expect(text).toContain('procedure = "load-sweep"\ntx = "romerA/t0"');
    expect(text).toContain('frame-sizes = "64,512,1518"');
    expect(text).toContain('[[stream]]\nname = "voice"\nshare = "20%"');
    expect(text).toContain('name = "a \\"b\\""');
    expect(text).toContain('[dut]\n"model" = "R1=x"');
    expect(plan({ ...FRESH, procedure: 'throughput' })).not.toContain('loads');
    expect(plan({ ...FRESH, imix: 'simple' })).not.toContain('frame-sizes');
  });
  it('tell which field of the form a fault is about', () => {
    const text = plan({ ...FRESH, tx: 'a', rx: 'b', streams: 'name=voice', labels: 'model=x' });
    const line = (start: string) => text.split('\n').findIndex((one) => one.startsWith(start)) + 1;
    expect(fieldOf(text, line('loads'), '')).toBe('loads');
    expect(fieldOf(text, line('name'), '')).toBe('streams');
    expect(fieldOf(text, line('"model"'), '')).toBe('labels');
    expect(fieldOf(text, null, 'the loads cannot be used (--loads): none')).toBe('loads');
    expect(fieldOf(text, null, 'something else')).toBeNull();
  });
  it('draw the mean of each load, case beside case, without trials that tell nothing', () => {
    const point = (name: string, load: number, forwarded: number, invalid: string | null = null) => ({ case: name, frame_size: 64, intended_percent: load, offered_percent: load, forwarded_percent: forwarded, invalid });
    expect(sizesOf([1518, null, 64, 512, 64].map((frame_size) => ({ frame_size })))).toEqual(['64 B', '512 B', '1518 B', 'mixture']);
    const found = curves([point('a', 50, 40), point('a', 50, 42), point('b', 10, 10), point('a', 10, 1, 'overload')], '64 B', (one) => one.forwarded_percent);
    expect(found.x).toEqual([10, 50]);
    expect(found.cases).toEqual([{ name: 'a', values: [null, 41] }, { name: 'b', values: [10, null] }]);
  });
});

describe('files', () => {
  it('differ by their content, also where their name stays', () => {
    expect(fileChanges({ 'a.csv': '1\n' }, { 'a.csv': '1\n' })).toEqual([]);
    const [one] = fileChanges({ 'a.csv': '1\n' }, { 'a.csv': '2\n' });
    expect(one).toEqual({ path: 'a.csv', before: '2 octets', after: '2 octets of other content', file: true });
    expect(fileChanges({}, { 'b.csv': 'é' })[0]?.before).toBeNull();
  });
});

describe('measurements that run', () => {
  const summary = (median: number | null) => ({ count: median === null ? 0 : 9, mean: median, median, p99: median, max: median });
  const stream = (number: number, elapsed_ns: number, sent: number, returned: number, settled = sent) => ({ stream: number, elapsed_ns, sent, returned, settled, lost: settled - returned, outstanding: sent - settled, round_trip_delay_ns: summary(50) }) as never;
  const live = (number: number, elapsed_ns: number) => {
    const way = (median: number) => ({ delay_ns: summary(median), jitter_rfc3550_ns: median / 10, sent: null, arrived: null });
    return { stream: number, elapsed_ns, delay_kind: 'variable' as const, forward: way(10), reverse: way(20), round_trip: way(40), inter_arrival_ns: summary(5) };
  };
  it('give a point for each interval and stream, in both directions', () => {
    const first = taken({}, { streams: [stream(0, 5e8, 10, 9), stream(1, 5e8, 4, 4)], live: [live(0, 5e8), live(1, 5e8)] });
    expect(first[0]?.[0]).toEqual({ x: 0.5, forward: { median: 10, p99: 10, jitter: 1, lost: null }, reverse: { median: 20, p99: 20, jitter: 2, lost: null }, roundTrip: { median: 40, p99: 40, jitter: 4, lost: null }, between: { median: 5, max: 5 }, loss: expect.closeTo(0.1, 12) });
    expect(first[1]).toHaveLength(1);
    // The same told again is nothing new.
    expect(taken(first, { streams: [stream(0, 5e8, 10, 9)], live: [live(0, 5e8)] })).toBe(first);
    expect(taken(first, { streams: [stream(0, 1e9, 20, 20)], live: [live(0, 1e9)] })[0]?.map((point) => point.x)).toEqual([0.5, 1]);
  });
  it('have the losses of packets that go one way, and none before the other end has told of any', () => {
    const both = { ...live(0, 5e8), forward: { ...live(0, 5e8).forward, sent: 200, arrived: 190 }, reverse: { ...live(0, 5e8).reverse, sent: 100, arrived: 100 } };
    const [point] = taken({}, { streams: [stream(0, 5e8, 300, 290)], live: [both] })[0] ?? [];
    expect([point?.forward.lost, point?.reverse.lost, point?.roundTrip.lost]).toEqual([expect.closeTo(0.05, 12), 0, null]);
  });
  it('have the round trip from the measurement itself where its log tells nothing', () => {
    const [point] = taken({}, { streams: [stream(0, 5e8, 0, 0)], live: [] })[0] ?? [];
    expect([point?.roundTrip.median, point?.forward.median, point?.loss]).toEqual([50, null, null]);
    expect(has(point ? [point] : [], (one) => one.reverse.jitter)).toBe(false);
  });
  it('have their loss of the packets whose fate is known, and none of those that are on their way', () => {
    const [point] = taken({}, { streams: [stream(0, 5e8, 100, 19, 20)], live: [] })[0] ?? [];
    expect(point?.loss).toBeCloseTo(0.05, 12);
  });
  it('name the packets that their loss is of', () => {
    expect(lossWords('round_trip')?.unit).toContain('waiting time');
    expect(lossWords('forward')?.unit).toContain('arrived');
    expect(lossWords('both')?.title).toContain('both directions');
    expect(lossWords('reverse')).toBeNull();
  });
  it('are kept up to a bound', () => {
    let points: Points = {};
    for (let i = 1; i <= MOST + 5; i++) points = taken(points, { streams: [stream(0, i * 1e9, 1, 1)], live: [] });
    expect(points[0]?.length).toBe(MOST);
    expect(points[0]?.at(-1)?.x).toBe(MOST + 5);
  });
});

describe('samples', () => {
  const text = 'ordinal,copy,port,size,arrival_ns,departure_ns,departure_rank,fate,requested_delay_ns,displacement\n0,0,a,64,0,1000,0,sent,900,0\n0,0,b,64,100,200,0,sent,50,0\n1,0,a,64,500,,,lost:model,,\n2,0,a,64,600,1500,0,sent,900,0\n3,0,a,64,1200,2100,0,sent,,0\n';
  it('have their overhead, and what was held when each came, of their own port', () => {
    const found = samples(text).filter((one) => one.port === 'a');
    expect(found.map((one) => one.overhead)).toEqual([100, null, 0, null]);
    expect(found.map((one) => one.queue)).toEqual([0, 1, 1, 1]);
    expect(found[1]).toMatchObject({ fate: 'lost:model', actual: null });
    expect(samples('head\n')).toEqual([]);
  });
  it('are a series for each port', () => {
    expect(byPort(samples(text), 'b', (one) => one.actual)).toEqual([null, 100, null, null, null]);
  });
});

describe('a chart', () => {
  const whole = { min: 0, max: 100 };
  it('is zoomed and moved by keys, and stays within what there is', () => {
    expect(zoomed(whole, whole, '+')).toEqual({ min: 25, max: 75 });
    expect(zoomed({ min: 25, max: 75 }, whole, '-')).toBeNull();
    expect(zoomed({ min: 40, max: 50 }, whole, '-')).toEqual({ min: 35, max: 55 });
    expect(zoomed({ min: 90, max: 100 }, whole, 'ArrowRight')).toEqual({ min: 90, max: 100 });
    expect(zoomed({ min: 40, max: 50 }, whole, 'ArrowLeft')).toEqual({ min: 37.5, max: 47.5 });
    expect(zoomed({ min: 40, max: 50 }, whole, 'End')).toEqual({ min: 90, max: 100 });
    expect(zoomed({ min: 40, max: 50 }, whole, '0')).toBeNull();
    expect(zoomed({ min: 0, max: 0 }, { min: 5, max: 5 }, '+')).toBeNull();
  });
});

describe('causes of losses', () => {
  it('are listed where one is known', () => {
    expect(causesOf(undefined)).toBe('');
    expect(causesOf([{ cause: 'unknown', count: 3 }])).toBe('');
    expect(causesOf([{ cause: 'interface-down', count: 12 }, { cause: 'unknown', count: 3 }])).toBe('12 while an interface was down, 3 of unknown cause');
  });

  it('have the words of the text summary', () => {
    const words = [...source.matchAll(/LossCause::\w+ => "([^"]+)"/g)].map(([, words]) => words);
    expect(words).toEqual(Object.values(CAUSES));
  });
});
