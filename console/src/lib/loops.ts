// A closed loop as it is shown: its phases, its verdict, its figures, and both runs over one axis.

import type { components } from '../api/schema';
import type { Histogram } from './overlay';
import { percent, time } from './quantity';

type Schemas = components['schemas'];
type Figure = Schemas['LoopFigure'];
type Delays = Schemas['DirectionDelays'];

/** The phases in their order. */
export const PHASES: [Schemas['LoopPhase'], string][] = [
  ['measuring', 'Measure the path'],
  ['modelling', 'Model it'],
  ['emulating', 'Start the emulation in a lab'],
  ['measuring_again', 'Measure the emulation'],
  ['comparing', 'Compare'],
];

export const VERDICTS: Record<Schemas['LoopVerdict'], { words: string; short: string; tone: 'good' | 'warn' | 'bad' }> = {
  reproduced: { words: 'The emulation reproduces the path.', short: 'reproduced', tone: 'good' },
  undecided: { words: 'Undecided: no figure differs significantly, but not every figure is within its limits.', short: 'undecided', tone: 'warn' },
  not_reproduced: { words: 'The emulation does not reproduce the path.', short: 'not reproduced', tone: 'bad' },
};

type Step = 'done' | 'now' | 'open' | 'stopped';

/** Each phase with what became of it. A loop of a finished run measures no path. */
export function steps(job: Pick<Schemas['LoopJob'], 'phase' | 'state' | 'from_run'>): { phase: string; words: string; step: Step }[] {
  const phases = PHASES.filter(([phase]) => phase !== 'measuring' || job.from_run === null);
  const at = phases.findIndex(([phase]) => phase === job.phase);
  return phases.map(([phase, words], place) => {
    if (job.state === 'done' || place < at) return { phase, words, step: 'done' };
    if (place > at) return { phase, words, step: 'open' };
    return { phase, words, step: job.state === 'running' ? 'now' : 'stopped' };
  });
}

/** How a loop stands, in a word. */
export function standing(job: Pick<Schemas['LoopJob'], 'state' | 'verdict' | 'error'>): { words: string; tone: 'good' | 'warn' | 'bad' | '' } {
  if (job.state === 'running') return { words: 'running', tone: '' };
  if (job.state === 'failed') return { words: 'failed', tone: 'bad' };
  if (job.state === 'partial') return { words: job.error === null ? 'stopped' : 'incomplete', tone: 'warn' };
  return job.verdict ? { words: VERDICTS[job.verdict].short, tone: VERDICTS[job.verdict].tone } : { words: 'done', tone: '' };
}

/** The request that starts again from the measurement of a loop's path; null where there is none. */
export function rerun(job: Pick<Schemas['LoopJob'], 'from_run' | 'run' | 'stream'>): Schemas['LoopOfRun'] | null {
  if (job.from_run !== null) return { run: job.from_run, stream: job.stream };
  return job.run === null ? null : { run: `${job.run}/path`, stream: 0 };
}

const LABELS: Record<string, string> = {
  'jitter_ns.delay_difference.mean': '|IPDV| mean', 'loss.ratio': 'loss', 'reordering.ratio': 'reordering', 'voice.mos': 'MOS',
  wasserstein_ns: 'Wasserstein distance', kolmogorov_smirnov: 'Kolmogorov-Smirnov distance', autocorrelation: 'autocorrelation',
};
const SHARES = ['loss.ratio', 'reordering.ratio', 'kolmogorov_smirnov'];
const SCORES = ['autocorrelation', 'voice.mos'];
// Distances have no sign.
const DISTANCES = ['wasserstein_ns', 'kolmogorov_smirnov'];

/** A figure as the report of a loop calls it. */
export const label = (figure: string): string => LABELS[figure] ?? figure.replace('_ns.', ' ');

function value(figure: string, number: number | null | undefined): string {
  if (number === null || number === undefined) return '–';
  if (SHARES.includes(figure)) return percent(number, 3);
  return SCORES.includes(figure) ? number.toFixed(2) : time(number, 3);
}

function difference(figure: string, number: number | null | undefined): string {
  if (number === null || number === undefined) return '–';
  if (DISTANCES.includes(figure)) return value(figure, number);
  const size = value(figure, Math.abs(number));
  const sign = number > 0 ? '+' : number < 0 ? '-' : '';
  return `${sign}${SHARES.includes(figure) ? size.replace('%', 'pp') : size}`;
}

const RESULTS: Record<Schemas['LoopResult'], 'good' | 'warn' | 'bad'> = { within: 'good', undecided: 'warn', differs: 'bad' };

/** A row of the table of figures. */
export function row(figure: Figure) {
  const name = figure.figure;
  const [low, high] = figure.interval ?? [];
  const tolerance = figure.tolerance === 0 ? 'none' : value(name, figure.tolerance);
  const size = (number: number | null | undefined) => difference(name, number).replace(/^\+/, '');
  return {
    label: label(name),
    path: value(name, figure.path),
    emulation: value(name, figure.emulation),
    difference: difference(name, figure.difference),
    interval: low === undefined || high === undefined ? '–' : `${difference(name, low)} to ${difference(name, high)}`,
    halves: value(name, figure.halves),
    repeatability: size(figure.repeatability),
    tolerance,
    detectable: size(figure.detectable),
    result: figure.result ?? '',
    tone: figure.result ? RESULTS[figure.result] : '',
  };
}

/** A histogram of delays above `least`. */
export function above(histogram: Histogram | null | undefined, least: number): Histogram | null {
  if (!histogram) return null;
  return { bin_edges_ns: histogram.bin_edges_ns.map((edge) => edge - least), counts: histogram.counts };
}

export interface Curves {
  /** Seconds since the first packet. */
  x: number[];
  path: { median: (number | null)[]; p95: (number | null)[] };
  emulation: { median: (number | null)[]; p95: (number | null)[] };
}

/** The delays of both runs over one axis of time; above the minimum of each where they are `relative`. */
export function overTime(every: number, path: Delays | undefined, emulation: Delays | undefined, relative: boolean): Curves | null {
  if (!path || !emulation) return null;
  const length = Math.max(path.median_ns.length, emulation.median_ns.length);
  const x = Array.from({ length }, (_, place) => (place * every) / 1e9);
  const shifted = (of: Delays) => {
    const least = relative ? of.min_ns : 0;
    const line = (values: readonly (number | null)[]) => x.map((_, place) => { const found = values[place]; return typeof found === 'number' ? found - least : null; });
    return { median: line(of.median_ns), p95: line(of.p95_ns) };
  };
  return { x, path: shifted(path), emulation: shifted(emulation) };
}
