import { describe, expect, it } from 'vitest';
import { changes, fileChanges, History } from '../../src/lib/changes';
import { curve } from '../../src/lib/density';
import { modelOf, STAGES, withModel } from '../../src/lib/forms';
import { fourStateLoss, gilbert, gilbertLoss, linearSequence, overall, rowFault, stationary, visits } from '../../src/lib/markov';
import { distribution } from '../../src/lib/overlay';
import { curves, FRESH, plan } from '../../src/lib/plan';
import { nanoseconds, percent, probability, time, wholeNumbers, written } from '../../src/lib/quantity';
import { csv, meanBetween, second, type Tick } from '../../src/lib/rates';
import { phamFaults } from '../../src/lib/trace';

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
});

describe('seconds', () => {
  const summary = (count: number, mean: number | null) => ({ count, mean, median: mean, p99: mean, max: mean });
  const way = (received: number, lost: number) => ({
    received, transmitted: received - lost, queued: 0, duplicates_created: 0, lost: { model: lost, queue: 0 }, corrupted: 0, reordered: 0, balance: 0,
    requested_delay_ns: summary(received, 10), actual_delay_ns: summary(received, 11), delay_error_ns: summary(received, 1),
    queue_depth: summary(0, null), inter_arrival_ns: summary(0, null), inter_departure_ns: summary(0, null), link: 'up',
  });
  const tick = (at_ms: number, received: number, lost: number): Tick => ({ at_ms, version: 1, a_to_b: way(received, lost), b_to_a: way(0, 0) });
  it('are what came between two ticks', () => {
    const one = second(tick(1000, 100, 10), tick(3000, 300, 30));
    expect(one?.a_to_b.received).toBe(100);
    expect(one?.a_to_b.lostAll).toBe(10);
    expect(one?.a_to_b.lossRatio).toBeCloseTo(0.1, 12);
    expect(one?.b_to_a.lossRatio).toBeNull();
    expect(second(tick(1000, 100, 0), tick(2000, 50, 0))).toBeNull();
    expect(csv(one ? [one] : []).split('\n')[1]).toContain('1970-01-01T00:00:03.000Z,100,90');
  });
  it('have the mean of what is new in a growing sample', () => {
    expect(meanBetween(summary(10, 5), summary(20, 10))).toBe(15);
    expect(meanBetween(summary(10, 5), summary(10, 5))).toBeNull();
    expect(meanBetween(summary(10, 5), summary(3, 7))).toBe(7);
  });
});

describe('overlays', () => {
  it('lay histograms with different bins over one axis', () => {
    const found = distribution([{ bin_edges_ns: [0, 10, 20], counts: [1, 1] }, null, { bin_edges_ns: [5, 15], counts: [4] }]);
    expect(found?.x).toEqual([0, 5, 10, 15, 20]);
    expect(found?.values[0]).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(found?.values[2]).toEqual([0, 0, 0.5, 1, 1]);
    expect(distribution([null, null])).toBeNull();
  });
});

describe('traces', () => {
  it('are told line by line what is wrong with them', () => {
    expect(phamFaults('port,loss,duplication,reorder_distance,delay_us\n1,0,0,0,10\n')).toEqual([]);
    expect(phamFaults('1,0,0,0,10\n3,0,0,0,10\n1,0,0\n1,2,0,0,1\n1,0,0,x,1').map((fault) => fault.line)).toEqual([2, 3, 4, 5]);
    expect(phamFaults('')).toHaveLength(1);
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
  it('draw the mean of each load, case beside case, without trials that tell nothing', () => {
    const point = (name: string, load: number, carried: number, invalid: string | null = null) => ({ case: name, frame_size: 64, intended_percent: load, offered_percent: load, carried_percent: carried, invalid });
    const found = curves([point('a', 50, 40), point('a', 50, 42), point('b', 10, 10), point('a', 10, 1, 'overload')], '64 B', (one) => one.carried_percent);
    expect(found.x).toEqual([10, 50]);
    expect(found.cases).toEqual([{ name: 'a', values: [null, 41] }, { name: 'b', values: [10, null] }]);
  });
});

describe('files', () => {
  it('differ by their content, also where their name stays', () => {
    expect(fileChanges({ 'a.csv': '1\n' }, { 'a.csv': '1\n' })).toEqual([]);
    const [one] = fileChanges({ 'a.csv': '1\n' }, { 'a.csv': '2\n' });
    expect(one).toEqual({ path: 'a.csv', before: '2 octets', after: '2 octets of other content' });
    expect(fileChanges({}, { 'b.csv': 'é' })[0]?.before).toBeNull();
  });
});
