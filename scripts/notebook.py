"""Runs the code cells of notebooks in order, each notebook in an empty folder, and compares what they print with their stored
outputs: `scripts/notebook.py check FILE...`. `scripts/notebook.py write FILE...` stores what they print."""

import contextlib
import difflib
import io
import json
import os
import pathlib
import sys
import tempfile


def printed(notebook):
    """What each code cell prints, in order."""
    names = {"__name__": "__main__"}
    outputs = []
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(code(notebook), 1):
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
                outputs.append(output.getvalue())
        finally:
            os.chdir(before)
    return outputs


def code(notebook):
    """The code cells."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def stored(cell):
    """What a cell has printed according to the notebook."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def check(path):
    """Print the differences of a notebook, and return whether it has any."""
    notebook = json.loads(path.read_text())
    differs = False
    for number, (cell, output) in enumerate(zip(code(notebook), printed(notebook)), 1):
        lines = [text.splitlines(keepends=True) for text in (stored(cell), output)]
        difference = list(difflib.unified_diff(*lines, f"{path}, cell {number}, stored", "printed"))
        sys.stdout.writelines(difference)
        differs = differs or bool(difference)
    return differs


def write(path):
    """Store what the cells of a notebook print."""
    notebook = json.loads(path.read_text())
    for number, (cell, output) in enumerate(zip(code(notebook), printed(notebook)), 1):
        stream = {"name": "stdout", "output_type": "stream", "text": output.splitlines(keepends=True)}
        cell["outputs"] = [stream] if output else []
        cell["execution_count"] = number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def main(action, *files):
    """Do it for all files, and return the exit code."""
    paths = [pathlib.Path(file).resolve() for file in files]
    if action == "write":
        for path in paths:
            write(path)
        return 0
    if any([check(path) for path in paths]):
        print("error: a notebook prints something else (docs/notebooks): see above; store it with scripts/notebook.py write")
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "write"):
        sys.exit("usage: scripts/notebook.py check|write FILE...")
    sys.exit(main(*sys.argv[1:]))
