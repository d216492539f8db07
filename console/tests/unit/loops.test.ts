// The closed loop: its plan as a request, its phases, its figures, and both runs over one axis.

import { describe, expect, it } from 'vitest';
import { above, label, overTime, rerun, row, standing, steps, VERDICTS } from '../../src/lib/loops';
import { PLAN, planOf } from '../../src/lib/planform';

describe('a plan', () => {
  it('is the request of its fields, with a count in the place of a duration', () => {
    const { asked, faults } = planOf({ ...PLAN, targets: ' far ', direction: 'both', interval: ' 20ms', duration: '2m', size: '160B' });
    expect(faults).toEqual({});
    expect(asked).toMatchObject({ targets: ['far'], direction: 'both', traffic: 'periodic', interval: '20ms', duration: '2m', count: null, size: '160B', dscp: null, seed: null });
    expect(planOf({ ...PLAN, targets: 'far', count: ' 300 ' }).asked).toMatchObject({ count: 300, duration: null });
  });
  it('names each field that is wrong', () => {
    const { faults } = planOf({ ...PLAN, count: '1,000', seed: '1,2', bundle: 'x' });
    expect(Object.keys(faults).sort()).toEqual(['bundle', 'count', 'seed', 'targets']);
  });
});

describe('phases', () => {
  const of = (phase: 'measuring' | 'modelling' | 'measuring_again' | 'comparing', state: 'running' | 'done' | 'partial', from_run: string | null = null) => steps({ phase, state, from_run }).map((one) => one.step);
  it('before the current one are done, and those after it are open', () => {
    expect(of('modelling', 'running')).toEqual(['done', 'now', 'open', 'open', 'open']);
    expect(of('measuring_again', 'partial')).toEqual(['done', 'done', 'done', 'stopped', 'open']);
    expect(of('comparing', 'done')).toEqual(['done', 'done', 'done', 'done', 'done']);
  });
  it('of a finished run begin with the model', () => {
    expect(of('modelling', 'running', 'run')).toEqual(['now', 'open', 'open', 'open']);
  });
});

describe('the state of a loop', () => {
  it('is its verdict once it is closed, and tells a stop from a fault', () => {
    expect(standing({ state: 'done', verdict: 'not_reproduced', error: null })).toEqual({ words: 'not reproduced', tone: 'bad' });
    expect(standing({ state: 'partial', verdict: null, error: null }).words).toBe('stopped');
    expect(standing({ state: 'partial', verdict: null, error: 'no lab' }).words).toBe('incomplete');
    expect(standing({ state: 'failed', verdict: null, error: 'x' }).tone).toBe('bad');
    expect(VERDICTS.reproduced.words).toBe('The emulation reproduces the path.');
  });
  it('lets it start again from its path', () => {
    expect(rerun({ from_run: null, run: '2026-loop', stream: 0 })).toEqual({ run: '2026-loop/path', stream: 0 });
    expect(rerun({ from_run: 'other', run: '2026-loop', stream: 2 })).toEqual({ run: 'other', stream: 2 });
    expect(rerun({ from_run: null, run: null, stream: 0 })).toBeNull();
  });
});

describe('figures', () => {
  const figure = { figure: 'delay_ns.p99', path: 58.6e6, emulation: 50.4e6, difference: -8.19e6, interval: [-16.3e6, -0.383e6], halves: 8.57e6, repeatability: 7.96e6, tolerance: 8.79e6, detectable: 15.5e6, emulator_late_ns: null, path_late_ns: null, result: 'within' as const };
  it('have their units, and differences their sign', () => {
    expect(row(figure)).toEqual({ label: 'delay p99', path: '58.6 ms', emulation: '50.4 ms', difference: '-8.19 ms', interval: '-16.3 ms to -383 µs', halves: '8.57 ms', repeatability: '7.96 ms', tolerance: '8.79 ms', detectable: '15.5 ms', result: 'within', tone: 'good' });
    const loss = row({ ...figure, figure: 'loss.ratio', path: 0.0287, emulation: 0.03, difference: 0.0013, interval: null, halves: null, repeatability: 0.011, tolerance: 0, detectable: 0.0202, result: 'within' });
    expect([loss.difference, loss.interval, loss.repeatability, loss.tolerance, loss.detectable, loss.tone]).toEqual(['+0.13 pp', '–', '1.1 pp', 'none', '2.02 pp', 'good']);
  });
  it('that are distances have no sign, and those that are not judged no result', () => {
    const distance = row({ ...figure, figure: 'kolmogorov_smirnov', path: null, emulation: null, difference: 0.186, interval: [0.151, 0.221], halves: 0.0315, repeatability: 0.03, tolerance: null, detectable: null, result: null });
    expect(distance).toMatchObject({ path: '–', difference: '18.6 %', interval: '15.1 % to 22.1 %', repeatability: '3 %', tolerance: '–', detectable: '–', result: '', tone: '' });
    expect([label('voice.mos'), label('jitter_ns.delay_difference.mean'), label('delay_ns.median')]).toEqual(['MOS', '|IPDV| mean', 'delay median']);
  });
});

describe('both runs over one axis', () => {
  const path = { direction: 'forward' as const, min_ns: 10, median_ns: [20, null, 30], p95_ns: [25, null, 35], lost: [0, 1, 0] };
  const emulation = { ...path, min_ns: 5, median_ns: [6], p95_ns: [7], lost: [0] };
  it('of time end where the longer one does', () => {
    expect(overTime(5e8, path, emulation, false)).toEqual({ x: [0, 0.5, 1], path: { median: [20, null, 30], p95: [25, null, 35] }, emulation: { median: [6, null, null], p95: [7, null, null] } });
    expect(overTime(5e8, path, undefined, false)).toBeNull();
  });
  it('begin at the minimum of each where delays are relative', () => {
    expect(overTime(1, path, emulation, true)?.path.median).toEqual([10, null, 20]);
    expect(overTime(1, path, emulation, true)?.emulation.median).toEqual([1, null, null]);
    expect(above({ bin_edges_ns: [5, 7], counts: [3] }, 5)).toEqual({ bin_edges_ns: [0, 2], counts: [3] });
    expect(above(null, 5)).toBeNull();
  });
});
