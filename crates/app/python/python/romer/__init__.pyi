"""Measured packets, their analysis, emulation in virtual time, comparison and models of network paths."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, Union

__version__: str

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

_Path = Union[str, PathLike[str]]
_ArrowTable = Union[_ArrowStream, _ArrowArray]
_Buffer = Any  # an object with the buffer protocol; collections.abc.Buffer is of Python 3.12

class Error(Exception):
    """The base class of the exceptions of romer."""

class InputError(Error, ValueError):
    """An argument, or the content of a file, cannot be used."""

class FileError(Error, OSError):
    """The system refuses a file: it does not exist, or cannot be read or written."""

class Table:
    """Columns of equal length. Libraries that read the Arrow PyCapsule interface share its memory."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""

    def column(self, name: str) -> list[Any]:
        """The values of a column as a list. A missing value is None. A time is in nanoseconds since 1970-01-01 UTC."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class Run:
    """A run: a folder that `romer measure` wrote."""

    @property
    def path(self) -> Any:
        """The folder, a pathlib.Path."""

    @property
    def streams(self) -> int:
        """The number of streams: one for each target."""

    def probes(self) -> Table:
        """The packets of all streams, with the columns of packets.parquet."""

    def document(self) -> dict[str, Any]:
        """The measurement document, as by `romer analyze RUN --json -`."""

    def events(self) -> list[dict[str, Any]]:
        """The host events of all streams, each with the number of its stream."""

class Simulation:
    """The departures of a simulated network, and its document. It is a table for libraries that read Arrow."""

    @property
    def departures(self) -> Table:
        """A row for each packet and copy, in order of arrival."""

    def document(self) -> dict[str, Any]:
        """The emulation document: counters, delays, seed and warnings."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class Model:
    """A scenario that was made of a measurement, with its checks."""

    @property
    def scenario(self) -> str:
        """The text of the scenario (TOML)."""

    @property
    def files(self) -> Mapping[str, str]:
        """The files that the scenario names: their contents by their names."""

    def document(self) -> dict[str, Any]:
        """The model document: the parameters, the checks and the warnings."""

def open(path: _Path) -> Run:
    """Open the folder of a run."""

def analyze(
    input: Union[_Path, Run, _ArrowTable],
    *,
    reverse: Union[_Path, None] = None,
    waiting_time_ns: Union[int, None] = None,
    one_clock: bool = False,
) -> dict[str, Any]:
    """Analyse a run, a packet log or a table, and return the measurement document."""

def simulate(
    scenario: Union[_Path, Model],
    arrivals: Union[_ArrowTable, _Buffer, Sequence[int], Sequence[tuple[int, str, int]]],
    *,
    seed: Union[str, Sequence[int], None] = None,
    port: str = "a",
    size: int = 64,
) -> Simulation:
    """Emulate a network in virtual time, as by `romer emulate --offline`."""

def compare(
    a: Union[_Path, Run],
    b: Union[_Path, Run],
    *,
    by: Union[str, None] = None,
    stream_number: Union[int, None] = None,
) -> dict[str, Any]:
    """Compare two measurements, and return the comparison document."""

def fit(
    run: Union[_Path, Run],
    *,
    trace: bool = False,
    only_udp: bool = False,
    plan: bool = False,
    stream_number: int = 0,
    allowance_ns: int = 0,
    name: str = "model",
) -> Model:
    """Make a scenario of a measured path, as by `romer model RUN --write`."""
