// Jobs of the server that a screen ends.

import { ask } from '../api/client';
import { words } from './state.svelte';

/** Ends a job. Gives the fault, or an empty text if there is none. */
export async function stopJob(what: 'stopBenchmark' | 'stopLoop' | 'stopMeasurement', id: number): Promise<string> {
  try {
    await ask(what, undefined, { path: { id } });
    return '';
  } catch (error) {
    return words(error);
  }
}
