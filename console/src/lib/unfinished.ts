// What is typed in a field and cannot become part of the scenario: it stays in the field, and nothing is applied without it.

import { getContext, setContext } from 'svelte';
import { SvelteMap } from 'svelte/reactivity';

const KEY = Symbol('unfinished');
/** What is wrong, in words, by whatever tells the fields apart. */
type Unfinished = Map<string, string>;

/** A screen's own, which the fields within it find. */
export function holdUnfinished(): Unfinished {
  const map = new SvelteMap<string, string>();
  setContext(KEY, map);
  return map;
}

/** That of the screen that the field stands in, if it has one. */
export const findUnfinished = (): Unfinished | undefined => getContext<Unfinished | undefined>(KEY);
