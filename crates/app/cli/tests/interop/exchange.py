"""Sends STAMP requests that scapy has built to a reflector, and prints what scapy reads in each and in its reply.

Usage: exchange.py ADDRESS PORT. One JSON object a line: the case, the request's and the reply's fields by scapy's
names, both as octets, and the reply's sender.
"""

import json
import socket
import sys
import time

from scapy.contrib.stamp import (
    ErrorEstimate,
    STAMPSessionReflectorTestUnauthenticated as Reply,
    STAMPSessionSenderTestUnauthenticated as Request,
    STAMPTestTLV,
)

# From 1900, the beginning of NTP's first era, to 1970.
NTP_TO_UNIX = 2_208_988_800


def ntp_now():
    """This moment as a 64-bit NTP timestamp."""
    now = time.time_ns()
    return ((now // 10**9 + NTP_TO_UNIX) << 32) | ((now % 10**9 << 32) // 10**9)


def ptp_now():
    """This moment as a truncated PTPv2 timestamp, on UTC as RFC 8762 has it without a leap second count."""
    now = time.time_ns()
    return (now // 10**9 & 0xFFFFFFFF) << 32 | now % 10**9


def request(sequence, z=0, ssid=0, multiplier=1, scale=20, synchronised=0, tlvs=()):
    """A request; the time is put in as the 64 bits that it is, so that none is rounded away."""
    packet = Request(
        seq=sequence,
        err_estimate=ErrorEstimate(S=synchronised, Z=z, scale=scale, multiplier=multiplier),
        ssid=ssid,
        mbz=0,
        tlv_objects=list(tlvs),
    )
    octets = bytearray(bytes(packet))
    octets[4:12] = (ptp_now() if z else ntp_now()).to_bytes(8, "big")
    return bytes(octets)


def padding(length):
    """The Extra Padding TLV of RFC 8972 section 4.1, as long as `length` with its head."""
    return STAMPTestTLV(flags="U", type=1, len=length - 4, value=b"\x5a" * (length - 4))


def cases():
    yield "plain", request(0)
    yield "numbered", request(0xFFFFFFFF)
    yield "session", request(7, ssid=0xBEEF)
    yield "synchronised", request(8, synchronised=1, multiplier=255, scale=31)
    yield "ptp", request(9, z=1)
    yield "padded with zeros", request(10) + bytes(56)
    yield "padded by a TLV", request(11, tlvs=[padding(100)])
    yield "largest", request(12, tlvs=[padding(1472 - 44)])


def estimate(packet):
    return {"s": packet.S, "z": packet.Z, "scale": packet.scale, "multiplier": packet.multiplier}


def sender_fields(octets):
    packet = Request(octets)
    return {"seq": packet.seq, "err_estimate": estimate(packet.err_estimate), "ssid": packet.ssid, "mbz": packet.mbz}


def reflector_fields(octets):
    packet = Reply(octets)
    return {
        "seq": packet.seq,
        "err_estimate": estimate(packet.err_estimate),
        "ssid": packet.ssid,
        "seq_sender": packet.seq_sender,
        "err_estimate_sender": estimate(packet.err_estimate_sender),
        "mbz1": packet.mbz1,
        "ttl_sender": packet.ttl_sender,
        "mbz2": packet.mbz2,
    }


def main():
    target = (sys.argv[1], int(sys.argv[2]))
    family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as link:
        link.settimeout(10)
        if family == socket.AF_INET:
            link.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 77)
        else:
            link.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, 77)
        for name, sent in cases():
            before = time.time_ns()
            link.sendto(sent, target)
            received, source = link.recvfrom(65535)
            line = {
                "case": name,
                "before_ns": before,
                "after_ns": time.time_ns(),
                "from": [source[0], source[1]] == [target[0], target[1]],
                "request": sender_fields(sent),
                "reply": reflector_fields(received),
                "request_octets": sent.hex(),
                "reply_octets": received.hex(),
            }
            print(json.dumps(line))


main()
