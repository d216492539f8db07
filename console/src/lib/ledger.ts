// What an emulation did to packets as shares, each of the packets that reach its stage.
//
// A packet meets loss, then duplication; what is left of it and its copies meet the stages behind: displacement,
// corruption, the rate's queue, the port. Copies never meet the first.

/** Counts of one direction: received + duplicates_created = transmitted + held + the sum of lost. */
export interface Counts {
  received: number;
  transmitted: number;
  duplicates_created: number;
  reordered: number;
  corrupted: number;
  lost: Record<string, number>;
}

/** Causes by which a packet is lost before copies are made of what is left. */
const FIRST = ['kernel', 'model', 'trace'];

const ratio = (part: number, whole: number): number | null => (whole > 0 ? Math.min(1, part / whole) : null);
const sum = (lost: Record<string, number>, is: (cause: string) => boolean) => Object.entries(lost).reduce((all, [cause, count]) => (is(cause) ? all + count : all), 0);

export interface Shares {
  /** Of the packets that arrived, those lost before copies are made. */
  first: number | null;
  /** Of what was left and its copies, what was lost in a queue or at the port. */
  later: number | null;
  /** Of the packets that were left after the losses, how many copies were made of each: above 1 where a trace asks for several. */
  duplicated: number | null;
  /** Of what was left and its copies, what others went past because it was displaced. */
  reordered: number | null;
  /** Of packets and copies that left, those with bits turned over. */
  corrupted: number | null;
}

/** The shares of one direction; null where nothing reached a stage. */
export function shares(counts: Counts): Shares {
  const first = sum(counts.lost, (cause) => FIRST.includes(cause));
  const left = Math.max(0, counts.received - first);
  const behind = left + counts.duplicates_created;
  return {
    first: ratio(first, counts.received),
    later: ratio(sum(counts.lost, (cause) => !FIRST.includes(cause)), behind),
    duplicated: left > 0 ? counts.duplicates_created / left : null,
    reordered: ratio(counts.reordered, behind),
    corrupted: ratio(counts.corrupted, counts.transmitted),
  };
}

/** The share that a packet or copy is lost with on its whole way: before copies are made, and of what is left behind that; null where nothing came. */
export function lossRatio(counts: Counts): number | null {
  const { first, later } = shares(counts);
  return first === null ? null : first + (1 - first) * (later ?? 0);
}

/**
 * The share of packets of which nothing arrives: lost before copies are made, or what is left and each of its copies vanish
 * behind that with `vanishes`, each by itself.
 */
export function nothingArrives(first: number | null, vanishes: number | null, copies: number | null): number | null {
  if (first === null || vanishes === null || copies === null) return null;
  const also = copies <= 1 ? 1 - copies + copies * vanishes : vanishes ** copies;
  return first + (1 - first) * vanishes * also;
}

/** What a measurement at the far end sees as lost of what an emulation did; `damageKills`: what is corrupted does not arrive. */
export function lossSeen(counts: Counts, damageKills: boolean): number | null {
  const { first, later, duplicated, corrupted } = shares(counts);
  const vanishes = 1 - (1 - (later ?? 0)) * (1 - (damageKills ? (corrupted ?? 0) : 0));
  return nothingArrives(first, vanishes, duplicated ?? 0);
}
