"""What the tests share: the program `romer`, whose results the package must equal, and a run between two programs on loopback."""

import json
import os
import pathlib
import subprocess
import tempfile

ROMER = os.environ["ROMER"]
ROOT = pathlib.Path(__file__).resolve().parents[4]


def program(*words, code=0):
    """Run the program, and return its standard output; with another exit code, its error without the word `error`."""
    done = subprocess.run([ROMER, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == code, (words, done)
    if code == 0:
        return done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, done.stderr
    return errors[0].removeprefix("error: ")


def document(*words):
    """The document that the program writes."""
    return json.loads(program(*words, "--json", "-"))


def measured(folder):
    """Measure loopback, both directions at once, into a new run folder."""
    any_port = "127.0.0.1:0"
    responder = subprocess.Popen(
        [ROMER, "respond", "--listen", any_port, "--control", any_port],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        # The line that says that it is ready has the address of the control channel.
        target = responder.stdout.readline().strip().rpartition(" ")[2]
        program("measure", target, "--direction", "both", "--count", "100", "--interval", "2ms", "--out", folder, "--quiet")
    finally:
        responder.terminate()
        responder.communicate()
    return folder


def folder():
    """A temporary folder, as a context manager."""
    return tempfile.TemporaryDirectory(prefix="romer-python-")
