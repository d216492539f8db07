"""The time of `romer.simulate` of a million packets, as a ratio to that of `romer emulate --offline` of the same packets.

Both run in turn. The program reads its arrivals from a file and writes its departures to one; the package takes a table and gives one.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import polars
import romer

PACKETS = 1_000_000
INTERVAL_NS = 10_000
ROUNDS = 5
# The greatest ratio of the medians that is accepted.
LIMIT = 1.2
SEED = "1,2,3,4,5,6"
SCENARIO = """\
[a_to_b.loss]
model = "gilbert-elliott"
p = "1%"
r = "25%"
[a_to_b.delay]
fixed = "10ms"
variable = { model = "gamma", shape = 2.0, scale = "100us" }
"""


def seconds(call):
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(program):
    """Measure, print the table, and return the exit code."""
    arrivals = polars.DataFrame(
        {"time_ns": polars.int_range(0, PACKETS * INTERVAL_NS, INTERVAL_NS, eager=True)}
    ).with_columns(port=polars.lit("a"), size=polars.lit(218))
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        scenario, given, departures = folder / "path.toml", folder / "in.csv", folder / "out.csv"
        scenario.write_text(SCENARIO)
        scenario.chmod(0o644)
        arrivals.write_csv(given)
        command = [program, "emulate", "--offline", "--scenario", scenario, "--seed", SEED, "--quiet", "--force"]
        command += ["--arrivals", given, "--departures", departures]
        times = {"program": [], "package": []}
        for _ in range(ROUNDS):
            times["program"].append(seconds(lambda: subprocess.run(command, check=True)))
            times["package"].append(seconds(lambda: romer.simulate(scenario, arrivals, seed=SEED)))
        same = polars.DataFrame(romer.simulate(scenario, arrivals, seed=SEED))["departure_ns"]
        assert same.equals(polars.read_csv(departures)["departure_ns"])
    program_s, package_s = (statistics.median(times[name]) for name in ("program", "package"))
    ratio = package_s / program_s
    print("# The Python package\n")
    print(f"A million packets through a scenario with loss and delay, median of {ROUNDS} runs. `make bench` writes this file.\n")
    print("| | time |\n| --- | --- |")
    print(f"| `romer emulate --offline` | {program_s:.2f} s |")
    print(f"| `romer.simulate` | {package_s:.2f} s |")
    print(f"| ratio (at most {LIMIT}) | {ratio:.2f} |")
    return 0 if ratio <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
