// Distributions of delay, as curves.

import { nanoseconds } from './quantity';

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

/** The curve of a `variable` table; null where it cannot be drawn (yet). */
export function curve(variable: Fields | undefined): Curve | null {
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
    case 'correlated': {
      const inner = curve(variable.of as Fields | undefined);
      const c = number('coefficient');
      return inner && { ...inner, note: `correlation ${c ?? '–'} from packet to packet; ${inner.note ?? 'the same distribution'}` };
    }
    default:
      return null;
  }
}
