// The flow of a scenario to which packets belong, by what a measurement knows of their headers.

import type { components } from '../api/schema';
import type { Table } from './forms';

type Measurement = components['schemas']['Measurement'];

/** Headers of packets; what is not known is null. */
export interface Headers {
  dscp: number | null;
  protocol: number;
  ethertype: number | null;
  source: string | null;
  destination: string | null;
}

/** The flow, counted from 0; null for the settings of the top level. Where a match cannot be decided, its keys. */
export interface Matched {
  flow: number | null;
  undecided: string[];
}

const UDP = 17;
const PROTOCOLS: Record<string, number> = { udp: UDP, tcp: 6, icmp: 1, icmpv6: 58, sctp: 132 };

/** The number of a code point that is written as a name or a number; null where it is neither. */
export function codePoint(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return null;
  const name = value.trim().toLowerCase();
  if (/^\d+$/.test(name)) return Number(name);
  const named: Record<string, number> = { ef: 46, va: 44, 'voice-admit': 44, le: 1, be: 0, default: 0 };
  const classes = /^cs([0-7])$/.exec(name);
  const assured = /^af([1-4])([1-3])$/.exec(name);
  if (classes) return 8 * Number(classes[1]);
  if (assured) return 8 * Number(assured[1]) + 2 * Number(assured[2]);
  return named[name] ?? null;
}

/** The bits of an IP address, four or six; null where it is none. */
function bitsOf(address: string): string | null {
  const binary = (number: number, width: number) => number.toString(2).padStart(width, '0');
  if (/^\d+\.\d+\.\d+\.\d+$/.test(address)) {
    const parts = address.split('.').map(Number);
    return parts.every((part) => part < 256) ? parts.map((part) => binary(part, 8)).join('') : null;
  }
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(':')) return null;
  const [head = '', tail] = address.split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const missing = 8 - groups(head).length - groups(tail).length;
  if (tail === undefined ? missing !== 0 : missing < 0) return null;
  const all = [...groups(head), ...Array<string>(Math.max(0, missing)).fill('0'), ...groups(tail)];
  return all.map((group) => binary(Number.parseInt(group || '0', 16), 16)).join('');
}

/** Whether an address lies in a prefix such as 192.0.2.0/24; null where that cannot be told. */
export function within(prefix: string, address: string): boolean | null {
  const [network = '', length] = prefix.split('/');
  const [of, is] = [bitsOf(network), bitsOf(address)];
  if (of === null || is === null) return null;
  const most = length === undefined ? of.length : Number(length);
  return of.length === is.length && of.slice(0, most) === is.slice(0, most);
}

/** A target without its port. */
export function addressOf(target: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(target)?.[1] ?? (/^[^:]+:\d+$/.test(target) ? target.replace(/:\d+$/, '') : target);
  return bitsOf(bare) === null ? null : bare;
}

/** What a measurement knows of the headers of its packets in a direction. */
export function headersOf(measurement: Measurement, direction: 'forward' | 'reverse'): Headers {
  const target = addressOf(measurement.target);
  const ethertype = target === null ? null : target.includes(':') ? 0x86dd : 0x0800;
  const dscp = measurement[direction].dscp.sent ?? (direction === 'forward' ? (measurement.traffic.dscp ?? null) : null);
  const [source, destination] = direction === 'forward' ? [null, target] : [target, null];
  return { dscp, protocol: UDP, ethertype, source, destination };
}

/** The first flow that matches: a packet belongs to that one alone. */
export function matched(scenario: Table, headers: Headers): Matched {
  const same = (wanted: number | null, is: number | null) => (wanted === null || is === null ? null : wanted === is);
  const address = (wanted: unknown, is: string | null) => (is === null ? null : within(String(wanted), is));
  const number = (value: unknown) => (typeof value === 'number' ? value : /^\d+$/.test(String(value)) ? Number(value) : null);
  const tests: Record<string, (wanted: unknown) => boolean | null> = {
    dscp: (wanted) => same(codePoint(wanted), headers.dscp),
    protocol: (wanted) => same(PROTOCOLS[String(wanted)] ?? number(wanted), headers.protocol),
    ethertype: (wanted) => same(number(wanted), headers.ethertype),
    source: (wanted) => address(wanted, headers.source),
    destination: (wanted) => address(wanted, headers.destination),
  };
  const flows = (scenario.flow as Table[] | undefined) ?? [];
  for (const [place, flow] of flows.entries()) {
    const keys = Object.entries((flow.match as Table | undefined) ?? {}).map(([key, wanted]) => [key, tests[key]?.(wanted) ?? null] as const);
    if (keys.some(([, is]) => is === false)) continue;
    const undecided = keys.filter(([, is]) => is === null).map(([key]) => key);
    return { flow: undecided.length > 0 ? null : place, undecided };
  }
  return { flow: null, undecided: [] };
}

/** A match as a scenario file has it: `dscp ef, protocol udp`. */
export const matchWords = (flow: Table): string =>
  Object.entries((flow.match as Table | undefined) ?? {}).map(([key, value]) => `${key.replace('_', ' ')} ${String(value)}`).join(', ');
