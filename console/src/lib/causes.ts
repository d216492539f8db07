// The causes of losses in words, as the text summary has them.
import type { components } from '../api/schema';

type Cause = components['schemas']['LossCause'];

/** The text that follows a number of packets. */
export const CAUSES: Record<Cause, string> = {
  'interface-down': 'while an interface was down',
  'address-change': 'while the address of a host changed',
  'nat-rebinding': 'while a NAT replaced its mapping',
  'interface-mtu': 'longer than the receiving interface accepts',
  'path-mtu': 'longer than the path accepts',
  'sender-queue': 'while a sending host refused or dropped packets',
  'responder-restart': 'while the responder was not reachable',
  'icmp-unreachable': 'while packets were reported as undeliverable (ICMP)',
  unknown: 'of unknown cause',
};

/** `12 while an interface was down, 3 of unknown cause`; empty where no cause is known. */
export function causesOf(causes: readonly { cause: Cause; count: number }[] | undefined): string {
  if (!causes || causes.every((one) => one.cause === 'unknown')) return '';
  return causes.map((one) => `${one.count} ${CAUSES[one.cause]}`).join(', ');
}
