"""The table of scripts/netem-guest: reads the guest's console and writes Markdown.

Each measurement stands in the console as base64 of gzip of the document of `romer measure`, between GUEST-BEGIN NAME and
GUEST-END. Fails where the guest did.
"""

import base64
import gzip
import json
import sys


def documents(console):
    """The documents by name, and the guest's kernel."""
    found, kernel, name, body = {}, "unknown", None, []
    for line in console.splitlines():
        # The firmware leaves the terminal's own words before the first of ours.
        line = line[max(line.find("GUEST-"), 0) :].strip()
        if "GUEST-FAILED" in line:
            sys.exit(f"error: {line}; see {sys.argv[1]}")
        if line.startswith("GUEST-KERNEL "):
            kernel = line.split()[1]
        elif line.startswith("GUEST-BEGIN "):
            name, body = line.split()[1], []
        elif line == "GUEST-END":
            found[name] = json.loads(gzip.decompress(base64.b64decode("".join(body))))
            name = None
        elif name is not None:
            body.append(line)
    return found, kernel


def ratio(value, interval):
    low, high = interval
    return f"{value:.2%} ({low:.2%} to {high:.2%})"


def wilson(count, n, z=1.959963984540054):
    """Wilson's interval of 95 %."""
    p, d = count / n, 1 + z * z / n
    half = z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return [(p + z * z / (2 * n) - half) / d, (p + z * z / (2 * n) + half) / d]


def mean_burst(periods):
    """Mean length of the periods of loss, with the interval of 95 % of a mean."""
    n = len(periods)
    if n < 2:
        return f"- ({n} bursts)"
    mean = sum(periods) / n
    deviation = (sum((one - mean) ** 2 for one in periods) / (n - 1)) ** 0.5
    half = 1.96 * deviation / n**0.5
    return f"{mean:.2f} ({mean - half:.2f} to {mean + half:.2f}; {n} bursts)"


def loss(document):
    forward = document["forward"]
    packets, lost = forward["packets"], forward["loss"]
    # As many independent packets as their correlation, by the mean burst, leaves.
    share, periods = lost["ratio"], lost["periods"]
    stay = 1 - len(periods) / sum(periods) if periods else 0.0
    alike = max((stay - share) / (1 - share), 0.0)
    effective = (1 - alike) / (1 + alike)
    interval = wilson(packets["lost"] * effective, packets["sent"] * effective)
    shown = f"{packets['lost']} of {packets['sent']}: {ratio(share, interval)}"
    return [shown, mean_burst(lost["periods"])]


def jitter(document):
    forward = document["forward"]
    packets, delay = forward["packets"], forward["delay_ns"]
    interval = wilson(packets["reordered"], packets["received"])
    reordered = f"{packets['reordered']} of {packets['received']}: "
    reordered += ratio(packets["reordered"] / packets["received"], interval)
    mean, deviation = (f"{delay[name] / 1e6:.2f} ms" for name in ("mean", "stddev"))
    return [reordered, mean, deviation]


def main(console, table):
    found, kernel = documents(open(console, errors="replace").read())
    rows = []
    for percent in (25, 50):
        # A chain of two states with this share of losses and this correlation between neighbours.
        stay = 0.1 + percent / 100 * 0.9
        asked = ["10.00%", f"{1 / (1 - stay):.2f}"]
        netem, ours = (loss(found[f"{who}-loss-{percent}"]) for who in ("netem", "romer"))
        what = f"loss 10 %, correlation {percent} %"
        rows.append([f"{what}: share lost", asked[0], netem[0], ours[0]])
        rows.append([f"{what}: mean burst, packets", asked[1], netem[1], ours[1]])
    netem, ours = (jitter(found[f"{who}-jitter"]) for who in ("netem", "romer"))
    what = "delay 50 ms, normal, deviation 10 ms"
    for name, asked, *both in zip(
        ("share reordered", "mean", "deviation"), ("none", "50.00 ms", "10.00 ms"), netem, ours
    ):
        rows.append([f"{what}: {name}", asked, *both])
    document = found["romer-jitter"]
    text = [
        "# netem and romer, asked for the same",
        "",
        f"Written by `scripts/netem-guest`: netem of Linux {kernel} and `romer emulate` ({document['metadata']['software']}), one after the "
        "other between the same two hosts of one guest, each measured by `romer measure` (one way, "
        f"{document['forward']['packets']['sent']} packets a case). Intervals of 95 %; those of losses are as wide as the "
        "correlation that was measured makes them, those of bursts take bursts for independent of each other. The guest is "
        "emulated, so that no speed can be read from it, and its scheduling adds to delays: mean and deviation of the delays "
        "are of both emulators and the guest together, and tell neither apart (the same scenario in virtual time, `romer "
        "emulate --offline` over 20,000 packets, has a mean of 49.95 ms, 49.36 to 50.55, and a deviation of 10.1 ms). Seeds are "
        "fixed: of romer's shares of loss one in twenty lies outside its interval, as of any.",
        "",
        "| asked for | | netem | romer |",
        "| --- | ---: | ---: | ---: |",
    ]
    text += ["| " + " | ".join(row) + " |" for row in rows]
    with open(table, "w") as file:
        file.write("\n".join(text) + "\n")
    print("\n".join(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
