"""Measured packets, their analysis, emulation in virtual time, comparison and models of network paths.

Tables go in and out by the Arrow PyCapsule interface: polars, pandas, pyarrow and DuckDB read them without a copy.
"""

from ._errors import Error, FileError, InputError
from ._romer import Model, Run, Simulation, Table, __version__, analyze, compare, fit, open, simulate

__all__ = [
    "Error",
    "FileError",
    "InputError",
    "Model",
    "Run",
    "Simulation",
    "Table",
    "__version__",
    "analyze",
    "compare",
    "fit",
    "open",
    "simulate",
]
