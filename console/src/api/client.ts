// What the page asks of the server; the types are made from the server's own description.

import type { components, operations } from './schema';

/** What is said while nobody answers. */
export const SILENT = 'The server does not answer. Is romer still running?';

export type Schemas = components['schemas'];
export type Problem = Schemas['Problem'];
type Operations = operations;

/** What a refused request says. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem> & { detail: string },
  ) {
    super(problem.detail);
  }
}

type Json<T> = T extends { content: { 'application/json': infer J } } ? J : undefined;
type Good<T> = T extends { responses: infer R }
  ? Json<R[Extract<keyof R, 200 | 201 | 204>]>
  : never;
type Body<T> = T extends { requestBody: { content: { 'application/json': infer B } } } ? B : undefined;

const PLACES = {
  about: ['GET', '/api/about'],
  doctor: ['GET', '/api/doctor'],
  interfaces: ['GET', '/api/interfaces'],
  presets: ['GET', '/api/presets'],
  scenario: ['GET', '/api/scenario'],
  scenarioFiles: ['GET', '/api/scenario/files'],
  putScenario: ['PUT', '/api/scenario'],
  checkScenario: ['POST', '/api/scenario/check'],
  history: ['GET', '/api/scenario/history'],
  historyFiles: ['GET', '/api/scenario/history/{id}/files'],
  statistics: ['GET', '/api/statistics'],
  resetStatistics: ['POST', '/api/statistics/reset'],
  emulation: ['GET', '/api/emulation'],
  startEmulation: ['POST', '/api/emulation'],
  stopEmulation: ['POST', '/api/emulation/stop'],
  passThrough: ['POST', '/api/emulation/pass'],
  impairAgain: ['POST', '/api/emulation/impair'],
  measurements: ['GET', '/api/measurements'],
  startMeasurement: ['POST', '/api/measurements'],
  measurementIntervals: ['GET', '/api/measurements/{id}/intervals'],
  stopMeasurement: ['POST', '/api/measurements/{id}/stop'],
  benchmarks: ['GET', '/api/benchmarks'],
  startBenchmark: ['POST', '/api/benchmarks'],
  checkBenchmark: ['POST', '/api/benchmarks/check'],
  stopBenchmark: ['POST', '/api/benchmarks/{id}/stop'],
  loops: ['GET', '/api/loops'],
  startLoop: ['POST', '/api/loops'],
  startLoopFromRun: ['POST', '/api/loops/from-run'],
  stopLoop: ['POST', '/api/loops/{id}/stop'],
  runs: ['GET', '/api/runs'],
  run: ['GET', '/api/runs/{name}'],
  delaysOverTime: ['GET', '/api/runs/{name}/delays'],
  loopScenarioFiles: ['GET', '/api/runs/{name}/scenario/files'],
  deleteRun: ['DELETE', '/api/runs/{name}'],
  comparison: ['GET', '/api/comparison'],
} as const satisfies Partial<Record<keyof Operations, readonly [string, string]>>;

export interface More {
  path?: Record<string, string | number>;
  query?: Record<string, string>;
  ifMatch?: string;
}

export interface Answer<T> {
  value: T;
  tag: string | null;
}

/** Asks, and gives the answer with its entity tag. */
export async function askWith<K extends keyof typeof PLACES>(
  what: K,
  body?: Body<Operations[K]>,
  more: More = {},
): Promise<Answer<Good<Operations[K]>>> {
  const [method, template] = PLACES[what];
  let path: string = template;
  for (const [key, value] of Object.entries(more.path ?? {})) {
    path = path.replace(`{${key}}`, encodeURIComponent(String(value)));
  }
  const query = new URLSearchParams(more.query ?? {}).toString();
  const headers: Record<string, string> = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (more.ifMatch) headers['If-Match'] = more.ifMatch;
  let response: Response;
  try {
    response = await fetch(query ? `${path}?${query}` : path, {
      method,
      headers,
      credentials: 'same-origin',
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Refusal(0, { detail: SILENT });
  }
  if (!response.ok) throw new Refusal(response.status, await problem(response));
  const value = response.status === 204 ? undefined : await response.json();
  return { value: value as Good<Operations[K]>, tag: response.headers.get('ETag') };
}

/** Asks, and gives the answer. */
export async function ask<K extends keyof typeof PLACES>(
  what: K,
  body?: Body<Operations[K]>,
  more: More = {},
): Promise<Good<Operations[K]>> {
  return (await askWith(what, body, more)).value;
}

async function problem(response: Response): Promise<Partial<Problem> & { detail: string }> {
  try {
    const found = (await response.json()) as Problem;
    if (typeof found.detail === 'string') return found;
  } catch {
    // Not a problem document.
  }
  return { detail: `The server answered ${response.status} ${response.statusText}.` };
}

/** Opens a session with a token; whether it was the right one. */
export async function openSession(token: string): Promise<boolean> {
  try {
    const response = await fetch('/api/session', {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}` },
      credentials: 'same-origin',
    });
    return response.ok;
  } catch {
    return false;
  }
}
