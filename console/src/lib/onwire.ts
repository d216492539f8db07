// How long frames take at a rate, and how long a full queue before it.

import type { Table } from './forms';

const PACKETS: Record<string, number> = { pps: 1, kpps: 1e3, Mpps: 1e6 };
const BITS: Record<string, number> = { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9, Bps: 8, kBps: 8e3, MBps: 8e6, GBps: 8e9 };
const OCTETS: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
/** Octets that count besides those of a frame with its check sequence: preamble and gap; or less its header and check sequence. */
const BESIDE: Record<string, number> = { l1: 20, l2: 0, l3: -18 };
/** Octets of a queue of which nothing is said. */
const DEFAULT = 65_536;
/** The least and the greatest frame that is drawn. */
export const SIZES: [number, number] = [64, 1518];

const parted = (text: unknown, units: Record<string, number>): number | null => {
  const found = typeof text === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text) : null;
  const unit = units[found?.[2] ?? ''];
  return found && unit !== undefined && Number(found[1]) > 0 ? Number(found[1]) * unit : null;
};

export interface OnWire {
  /** Nanoseconds that the least and the greatest frame take. */
  takes: [number, number];
  /** Nanoseconds that a full queue takes, of frames of the greatest size; null where its size is not known. */
  full: number | null;
  /** Packets are counted, whatever their size. */
  byPackets: boolean;
}

/** What a rate makes of frames; null where what is typed is none (yet). */
export function onWire(table: Table | undefined): OnWire | null {
  const size = (table?.queue as Table | undefined)?.bytes;
  const queue = size === undefined ? DEFAULT : parted(size, OCTETS);
  const [packets, bits] = [PACKETS, BITS].map((units) => parted(table?.limit, units));
  const beside = BESIDE[String(table?.layer ?? 'l2')];
  const of = (octets: number) => {
    if (packets) return 1e9 / packets;
    return bits && beside !== undefined ? ((octets + beside) * 8e9) / bits : null;
  };
  const [least, most] = [of(SIZES[0]), of(SIZES[1])];
  if (least === null || most === null) return null;
  return { takes: [least, most], full: queue === null ? null : (queue / SIZES[1]) * most, byPackets: Boolean(packets) };
}
