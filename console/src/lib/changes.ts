// What differs between two scenarios.

export interface Change {
  path: string;
  before: string | null;
  after: string | null;
  /** It is a file's content that differs, and `path` its name. */
  file?: true;
}

function flat(value: unknown, path: string, into: Map<string, string>): void {
  if (Array.isArray(value)) {
    if (value.some((item) => typeof item === 'object' && item !== null && !Array.isArray(item))) {
      value.forEach((item, i) => flat(item, `${path}[${i + 1}]`, into));
    } else {
      into.set(path, JSON.stringify(value));
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) flat(inner, path ? `${path}.${key}` : key, into);
  } else if (value !== undefined && value !== null) {
    into.set(path, typeof value === 'string' ? value : JSON.stringify(value));
  }
}

/** The fields in which two documents differ, in order of their names. */
export function changes(before: unknown, after: unknown): Change[] {
  const [a, b] = [new Map<string, string>(), new Map<string, string>()];
  flat(before, '', a);
  flat(after, '', b);
  const paths = [...new Set([...a.keys(), ...b.keys()])].sort();
  return paths
    .filter((path) => a.get(path) !== b.get(path))
    .map((path) => ({ path, before: a.get(path) ?? null, after: b.get(path) ?? null }));
}

/** Files that are named alike and have other contents, with their sizes. */
export function fileChanges(before: Record<string, string>, after: Record<string, string>): Change[] {
  const size = (text: string | undefined) => (text === undefined ? null : `${new TextEncoder().encode(text).length} octets`);
  return Object.keys(after)
    .filter((name) => before[name] !== after[name])
    .sort()
    .map((name) => ({ path: name, before: size(before[name]), after: `${size(after[name])} of other content`, file: true }));
}

/** A scenario as this page knows it from the server: what its own changes are made to. */
export interface Known {
  /** Which emulation it is of: when that began. */
  started: string;
  tag: string | null;
  scenario: Record<string, unknown>;
  files: Record<string, string>;
}

/** A scenario without what changes nothing while packets pass. */
export function inEffect(scenario: Record<string, unknown>): Record<string, unknown> {
  const { about: _about, seed: _seed, ...rest } = scenario;
  return rest;
}

/** What somebody else has changed since; nothing where it is another emulation. */
export function byOthers(known: Known | null, now: Known): Change[] {
  if (!known || known.started !== now.started) return [];
  return [...changes(inEffect(known.scenario), inEffect(now.scenario)), ...fileChanges(known.files, now.files)];
}

/** What stands on the screen: a scenario as text, and the files that it names. */
export interface Stands {
  text: string;
  files: Record<string, string>;
}

/** Whether both are the same, contents of files included. */
export const standsSame = (a: Stands, b: Stands): boolean =>
  a.text === b.text && Object.keys(a.files).length === Object.keys(b.files).length && Object.entries(a.files).every(([name, text]) => b.files[name] === text);

/** Steps back and forth. */
export class History<T = string> {
  private past: T[] = [];
  private future: T[] = [];
  private isPassing = false;
  constructor(
    private now: T,
    private readonly same: (a: T, b: T) => boolean = (a, b) => a === b,
  ) {}

  /** Takes a new state in, if it is one. */
  push(state: T): void {
    if (this.same(state, this.now)) return;
    if (!this.isPassing) this.past.push(this.now);
    if (this.past.length > 200) this.past.shift();
    this.isPassing = false;
    this.now = state;
    this.future = [];
    // What passed led back to where it began.
    const last = this.past.at(-1);
    if (last !== undefined && this.same(last, state)) this.past.pop();
  }

  /** What is there now, if it is this, cannot be used, as a number without its unit yet: the next state takes its place. */
  passes(state: T): void {
    this.isPassing = this.past.length > 0 && this.same(state, this.now);
  }
  get canUndo(): boolean {
    return this.past.length > 0;
  }
  get canRedo(): boolean {
    return this.future.length > 0;
  }
  undo(): T {
    this.isPassing = false;
    const state = this.past.pop();
    if (state !== undefined) {
      this.future.push(this.now);
      this.now = state;
    }
    return this.now;
  }
  redo(): T {
    this.isPassing = false;
    const state = this.future.pop();
    if (state !== undefined) {
      this.past.push(this.now);
      this.now = state;
    }
    return this.now;
  }
}
