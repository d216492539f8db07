// What all screens share: the connection, the emulation, what happens.

import { ask, openSession, Refusal, type Schemas } from '../api/client';
import { asksAnything } from './asked';
import { second, type Second, type Tick } from './rates';

export type Link = 'opening' | 'open' | 'lost' | 'locked';

/** Seconds of live figures that are kept. */
export const KEPT = 3600;

class Shared {
  link = $state<Link>('opening');
  about = $state<Schemas['ServerInfo'] | null>(null);
  emulation = $state<Schemas['EmulationStatus'] | null>(null);
  /** Whether the scenario in force asks for anything to happen to packets. */
  asks = $state(false);
  /** Grows with each change of the scenario that the server tells of. */
  told = $state(0);
  tick = $state.raw<Tick | null>(null);
  seconds = $state.raw<Second[]>([]);
  jobs = $state.raw<Schemas['Job'][]>([]);
  benchmarks = $state.raw<Schemas['BenchmarkJob'][]>([]);
  loops = $state.raw<Schemas['LoopJob'][]>([]);
  /** A scenario that another screen gives to the emulator's, with its files; that takes it. */
  offered = $state.raw<{ scenario: Record<string, unknown>; files: Record<string, string> } | null>(null);
  missed = $state(0);

  private source: EventSource | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private heard = 0;
  private lastTick: Tick | null = null;

  /** Begins: with the token of the address where it has one, which is then taken out of it. */
  async begin(): Promise<void> {
    if (await this.enter()) await this.connect();
    setInterval(() => {
      // Something comes every five seconds at the least.
      if (this.link === 'open' && Date.now() - this.heard > 12_000) this.lose();
    }, 1000);
  }

  /**
   * Takes the token out of the address and tries it. False where it is wrong and nothing else opens the page; one that is
   * wrong does not shut a page that is open.
   */
  private async enter(): Promise<boolean> {
    const token = tokenIn(location.hash);
    if (!token) return true;
    history.replaceState(null, '', location.pathname);
    if (await openSession(token)) return true;
    if (this.link !== 'open') this.link = 'locked';
    return this.link === 'open';
  }

  /** The address that was printed is opened in this very tab: only what stands behind its # changes. */
  async readdressed(): Promise<void> {
    if ((await this.enter()) && this.link !== 'open') await this.connect();
  }

  /** Tries a token that was typed in. */
  async unlock(token: string): Promise<boolean> {
    const right = await openSession(token.trim().replace(/^.*#token=/, ''));
    if (right) await this.connect();
    return right;
  }

  async connect(): Promise<void> {
    clearTimeout(this.retry);
    try {
      this.about = await ask('about');
      await this.renew();
      this.listen();
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) this.link = 'locked';
      else this.lose();
    }
  }

  private async renew(): Promise<void> {
    this.jobs = await ask('measurements');
    this.benchmarks = await ask('benchmarks');
    this.loops = await ask('loops');
    if (this.about?.has_emulation) {
      this.emulation = await ask('emulation');
      this.asks = asksAnything((await ask('scenario')).scenario);
    } else this.emulation = null;
    this.told++;
  }

  private lose(): void {
    this.source?.close();
    this.source = null;
    if (this.link !== 'locked') this.link = 'lost';
    this.lastTick = null;
    clearTimeout(this.retry);
    this.retry = setTimeout(() => void this.connect(), 1500);
  }

  private listen(): void {
    this.source?.close();
    const source = new EventSource('/api/events');
    this.source = source;
    this.heard = Date.now();
    const on = <T>(kind: string, work: (what: T) => void) =>
      source.addEventListener(kind, (event) => {
        this.heard = Date.now();
        work(JSON.parse((event as MessageEvent<string>).data) as T);
      });
    source.onopen = () => {
      this.link = 'open';
      this.heard = Date.now();
    };
    source.onerror = () => this.lose();
    on<Record<string, never>>('alive', () => undefined);
    on<Tick>('tick', (tick) => this.take(tick));
    on<Schemas['ActiveScenario']>('scenario', (now) => {
      this.asks = asksAnything(now.scenario);
      this.told++;
    });
    on<Schemas['EmulationStatus']>('emulation', (standing) => {
      // Another one has no past; what is switched keeps its own.
      if (standing.started !== this.emulation?.started) {
        this.lastTick = null;
        this.seconds = [];
      }
      void ask('scenario').then((now) => (this.asks = asksAnything(now.scenario)), () => undefined);
      this.emulation = standing;
      this.told++;
    });
    on<Schemas['Job']>('measurement', (job) => {
      this.jobs = renewed(this.jobs, job);
    });
    on<Schemas['BenchmarkJob']>('benchmark', (job) => (this.benchmarks = renewed(this.benchmarks, job)));
    on<Schemas['LoopJob']>('loop', (job) => (this.loops = renewed(this.loops, job)));
    on<{ events: number }>('missed', (what) => (this.missed += what.events));
  }

  private take(tick: Tick): void {
    this.tick = tick;
    const before = this.lastTick;
    // The server tells its past once more when the connection was lost.
    if (before && tick.at_ms <= before.at_ms) return;
    this.lastTick = tick;
    const last = this.seconds.at(-1);
    if (!before || (last && tick.at_ms / 1000 <= last.at)) return;
    const came = second(before, tick);
    if (came) this.seconds = [...this.seconds.slice(-KEPT + 1), came];
  }
}

/** The list with this one as it is now, newest first. */
function renewed<T extends { id: number }>(list: readonly T[], one: T): T[] {
  return [one, ...list.filter((other) => other.id !== one.id)].sort((a, b) => b.id - a.id);
}

/** The token that an address carries behind its #; null where it has none. */
export const tokenIn = (hash: string): string | null => /^#token=([0-9A-Za-z._~+/=-]+)$/.exec(hash)?.[1] ?? null;

export const shared = new Shared();

/** The words of an error. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Gives a text to be saved. */
export function save(name: string, text: string, type = 'text/csv'): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
