"""What the guest of scripts/nic-guest showed: `nic-check.py CONSOLE` says it, and fails where a claim does not hold."""

import base64
import gzip
import json
import sys

documents, part, failures = {}, None, []
for line in open(sys.argv[1], encoding="utf-8", errors="replace").read().replace("\r", "").splitlines():
    # The firmware leaves the terminal's own words before the first of ours.
    line = line[max(line.find("GUEST-"), 0) :]
    words = line.split(" ", 1)
    if words[0] == "GUEST-BEGIN":
        part = (words[1], [])
    elif words[0] == "GUEST-END" and part:
        documents[part[0]] = json.loads(gzip.decompress(base64.b64decode("".join(part[1]))))
        part = None
    elif part:
        part[1].append(line)
    elif words[0] in ("GUEST-FAILED", "GUEST-REFUSED", "GUEST-KERNEL"):
        documents.setdefault(words[0], []).append(words[1] if len(words) > 1 else "")


def claim(holds, words):
    print(("holds: " if holds else "FAILS: ") + words)
    if not holds:
        failures.append(words)


claim("GUEST-FAILED" not in documents, f"everything ran ({documents.get('GUEST-FAILED', 'all of it')})")
refused = " ".join(documents.get("GUEST-REFUSED", []))
claim(refused.startswith("4 ") and "software only" in refused, f"loopback is refused: {refused}")


def card(name):
    found = {one["code"]: one for one in documents[name]["findings"]}["nic-stamps"]
    return found["text"]["observed"], found["interfaces"]["eth0"]


text, _ = card("before")
claim("eth0 (ptp0, departures only)" in text, f"doctor: {text}")
for name, on in [("before", False), ("between", False), ("during", True), ("after", False)]:
    is_on = card(name)[1]["stamping_departures_now"]
    claim(is_on is on, f"the card stamps {name}: {is_on}")

moments = {
    "round": (("sender", "departure"), ("responder", "departure")),
    "forward": (("sender", "departure"),),
    "reverse": (("responder", "departure"),),
}
for name, departures in moments.items():
    if name not in documents:
        continue
    stamps = documents[name]["stamps"]
    nic = stamps.get("nic") or {"error_ns": None}
    places = {key: stamps[key] for key in stamps if key.endswith(("_departure", "_arrival"))}
    claim(all(stamps[f"{end}_{moment}"] == "nic" for end, moment in departures), f"{name}: {places}")
    claim(
        all(place in (None, "kernel") for key, place in places.items() if key.endswith("_arrival")),
        f"{name}: arrivals, which this card does not stamp, are the kernel's",
    )
    error = nic["error_ns"]
    claim(error is not None and 0 < error < 1_000_000, f"{name}: stamps forwarded over to within {error} ns")
    for end, moment in departures:
        apart = nic.get("kernel_error_ns", {}).get(end, {}).get(moment, {})
        low, middle = apart.get("min"), apart.get("median")
        # The hour between the two clocks is gone, and no packet is on the wire before its driver had it.
        claim(
            middle is not None and low >= -error and middle < 20e6,
            f"{name}: {apart.get('count')} departures of the {end}, card after kernel by {middle} ns (at least {low})",
        )
    warned = any(warning["code"] == "nic-time-stamps-unavailable" for warning in documents[name]["warnings"])
    claim(warned, f"{name}: it is said which moments no card stamped")

if "promised" in documents:
    stamps = documents["promised"]["stamps"]
    claim(stamps["sender_departure"] == "kernel", "a card that promises stamps and gives none leaves the kernel's")
    claim(stamps.get("nic") is None, "and nothing is said of its stamps")

if "stepped" in documents:
    document = documents["stepped"]
    steps = [event for event in document["events"] if event["code"] == "clock-step"]
    sizes = [event["step"]["size_ns"] / 1e9 for event in steps if event.get("step")]
    # date sets whole seconds: up to one more or less than asked.
    for low, high, words in ((4, 6, "five seconds ahead"), (-9, -7, "eight seconds back")):
        claim(any(low <= size <= high for size in sizes), f"the clock that was set {words} is said: {sizes}")
    packets = document["round_trip"]["packets"]
    claim(packets["lost"] == 0, f"and is not taken for loss: {packets['received']} of {packets['sent']} came back")
    most = document["round_trip"]["delay_ns"]["max"]
    claim(most < 2e9, f"nor for delay: a round trip took {most / 1e6:.1f} ms at the most")

print(f"{documents.get('GUEST-KERNEL')}: {len(failures)} claims failed")
sys.exit(1 if failures else 0)
