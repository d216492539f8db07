// Distributions of delay, as curves.

import { nanoseconds } from './quantity';
import { empirical } from './trace';

export interface Curve {
  /** Nanoseconds, and density per millisecond. */
  points: [number, number][];
  mean: number | null;
  note: string | null;
}

type Fields = Record<string, unknown>;

function gammaLn(x: number): number {
  // Lanczos.
  const g = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - gammaLn(1 - x);
  const y = x - 1;
  let sum = 0.9999999999998099;
  g.forEach((value, i) => (sum += value / (y + i + 1)));
  const t = y + g.length - 0.5;
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum);
}

function erf(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - tail * Math.exp(-x * x));
}

function sampled(low: number, high: number, density: (x: number) => number): [number, number][] {
  const steps = 160;
  const width = high - low || 1;
  return Array.from({ length: steps + 1 }, (_, i) => {
    const x = low + (width * i) / steps;
    return [x, density(x) * 1e6];
  });
}

/** The histogram of sorted values as a density. */
function steps(values: number[]): [number, number][] {
  const [low, high] = [values[0] ?? 0, values.at(-1) ?? 0];
  const bins = Math.max(1, Math.min(60, Math.ceil(Math.sqrt(values.length) * 2)));
  const width = (high - low) / bins || Math.max(1e3, low * 0.02);
  const counts = Array.from({ length: high > low ? bins : 1 }, () => 0);
  for (const value of values) counts[Math.min(counts.length - 1, Math.floor((value - low) / width))]! += 1;
  const points: [number, number][] = [[low, 0]];
  counts.forEach((count, i) => {
    const height = (count / values.length / width) * 1e6;
    points.push([low + i * width, height], [low + (i + 1) * width, height]);
  });
  points.push([low + counts.length * width, 0]);
  return points;
}

/**
 * The delay of a chain in the long run: the states' densities by their shares. A state without a variable part is an atom,
 * which has no density: its delay and share.
 */
export function mixture(states: { share: number; fixed: number; variable: Fields | undefined }[], files: Record<string, string> = {}): { curve: Curve | null; atoms: [number, number][] } | null {
  const atoms: [number, number][] = [];
  const curves: { share: number; points: [number, number][] }[] = [];
  let mean: number | null = 0;
  for (const state of states) {
    if (!(state.share > 0)) continue;
    if (!state.variable) {
      atoms.push([state.fixed, state.share]);
      mean = mean === null ? null : mean + state.share * state.fixed;
      continue;
    }
    const found = curve(state.variable, files);
    if (!found) return null;
    curves.push({ share: state.share, points: found.points.map(([x, y]) => [x + state.fixed, y]) });
    mean = mean === null || found.mean === null ? null : mean + state.share * (state.fixed + found.mean);
  }
  if (curves.length === 0) return { curve: null, atoms };
  const xs = [...new Set(curves.flatMap((one) => one.points.map(([x]) => x)))].sort((a, b) => a - b);
  const points = xs.map((x): [number, number] => [x, curves.reduce((sum, one) => sum + one.share * heightAt(one.points, x), 0)]);
  return { curve: { points, mean, note: null }, atoms };
}

/** The height of a curve at a place between its points; at a jump, of its upper end. */
function heightAt(points: [number, number][], x: number): number {
  let height = 0;
  for (let i = 1; i < points.length; i++) {
    const [x0, y0] = points[i - 1] as [number, number];
    const [x1, y1] = points[i] as [number, number];
    if (x < x0 || x > x1) continue;
    height = Math.max(height, x1 > x0 ? y0 + ((y1 - y0) * (x - x0)) / (x1 - x0) : Math.max(y0, y1));
  }
  return height;
}

/** The curve of a `variable` table; null where it cannot be drawn (yet). */
export function curve(variable: Fields | undefined, files: Record<string, string> = {}): Curve | null {
  if (!variable) return null;
  const of = (key: string) => nanoseconds(variable[key]);
  const number = (key: string) => (typeof variable[key] === 'number' ? (variable[key] as number) : null);
  switch (variable.model) {
    case 'uniform': {
      const [low, high] = [of('low'), of('high')];
      if (low === null || high === null || high < low) return null;
      const width = high - low;
      const edge = width * 0.15 || 1e3;
      const height = width > 0 ? 1e6 / width : 1;
      return {
        points: [[Math.max(0, low - edge), 0], [low, 0], [low, height], [high, height], [high, 0], [high + edge, 0]],
        mean: (low + high) / 2,
        note: null,
      };
    }
    case 'normal': {
      const [mean, sd] = [of('mean'), of('stddev')];
      if (mean === null || sd === null || sd <= 0) return null;
      const bell = (z: number) => Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
      const above = 0.5 * (1 + erf(mean / sd / Math.SQRT2));
      const cut = 1 - above;
      const points = sampled(Math.max(0, mean - 4 * sd), mean + 4 * sd, (x) => bell((x - mean) / sd) / sd / above);
      const shifted = mean + (sd * bell(-mean / sd)) / above;
      const note = cut > 1e-4 ? `${(cut * 100).toPrecision(2)} % lie below 0 and are cut off` : null;
      return { points, mean: shifted, note };
    }
    case 'exponential': {
      const mean = of('mean');
      if (mean === null || mean <= 0) return null;
      return { points: sampled(0, mean * 6, (x) => Math.exp(-x / mean) / mean), mean, note: null };
    }
    case 'pareto': {
      const [scale, shape] = [of('scale'), number('shape')];
      if (scale === null || scale <= 0 || shape === null || shape <= 0) return null;
      const high = scale * Math.min(50, 0.01 ** (-1 / shape));
      const points = sampled(scale, high, (x) => (shape * scale ** shape) / x ** (shape + 1));
      points.unshift([scale, 0]);
      const mean = shape > 1 ? (shape * scale) / (shape - 1) : null;
      return { points, mean, note: shape > 1 ? null : 'its mean is infinite' };
    }
    case 'gamma': {
      const [scale, shape] = [of('scale'), number('shape')];
      if (scale === null || scale <= 0 || shape === null || shape <= 0) return null;
      const mean = shape * scale;
      const high = mean + 5 * Math.sqrt(shape) * scale;
      const log = gammaLn(shape) + shape * Math.log(scale);
      const points = sampled(high / 1000, high, (x) => Math.exp((shape - 1) * Math.log(x) - x / scale - log));
      return { points, mean, note: null };
    }
    case 'empirical': {
      const { values, faults } = empirical(files[String(variable.file ?? '')] ?? '');
      if (faults.length > 0) return null;
      values.sort((a, b) => a - b);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return { points: steps(values), mean, note: `${values.length} values of the file` };
    }
    case 'correlated': {
      const inner = curve(variable.distribution as Fields | undefined, files);
      const c = number('coefficient');
      return inner && { ...inner, note: `correlation ${c ?? '–'} from packet to packet; ${inner.note ?? 'the same distribution'}` };
    }
    default:
      return null;
  }
}
