// The plan of a measurement in fields: which packets, when, in which direction.

import type { components } from '../api/schema';
import { wholeNumbers } from './quantity';
import { seedOf, traffic } from './traffic';

type MeasurementRequest = components['schemas']['MeasurementRequest'];

export interface PlanForm {
  targets: string;
  direction: string;
  traffic: string;
  parts: Record<string, string>;
  trace: string;
  interval: string;
  duration: string;
  count: string;
  size: string;
  bundle: string;
  dscp: string;
  seed: string;
  stamp_only: boolean;
}

export const PLAN: PlanForm = { targets: '', direction: 'round_trip', traffic: 'periodic', parts: {}, trace: '', interval: '', duration: '10s', count: '', size: '', bundle: '', dscp: '', seed: '', stamp_only: false };

/** A text without spaces around it; null where it is empty. */
export const textOf = (value: string): string | null => (value.trim() === '' ? null : value.trim());

/** The request of a plan, and what is wrong with its fields. */
export function planOf(form: PlanForm): { asked: MeasurementRequest; faults: Record<string, string> } {
  const faults = wholeNumbers({ count: form.count, bundle: form.bundle });
  const { seed, fault } = seedOf(form.seed);
  if (fault) faults.seed = fault;
  if (form.targets.trim() === '') faults.targets = 'name a host that runs romer respond';
  const count = textOf(form.count);
  const asked: MeasurementRequest = {
    targets: form.targets.split(/[\s,]+/).filter(Boolean),
    direction: form.direction as components['schemas']['ProbeDirection'],
    traffic: traffic(form.traffic, form.parts), trace: form.traffic === 'trace' ? form.trace : null,
    interval: textOf(form.interval), duration: count ? null : textOf(form.duration), count: count ? Number(count) : null,
    size: textOf(form.size), bundle: form.bundle.trim() ? Number(form.bundle) : null, dscp: textOf(form.dscp),
    seed: seed as MeasurementRequest['seed'], stamp_only: form.stamp_only, comment: null, limits: [], log_at_end: false, stamp: 'best',
  };
  return { asked, faults };
}
