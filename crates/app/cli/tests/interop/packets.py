"""Reads packets.parquet with each library by its defaults, and prints what it has read as a line of JSON."""

import json
import sys

import duckdb
import pandas
import polars
import pyarrow.parquet

PATH = sys.argv[1]


def show(library, types, departures, directions, fates, delays):
    print(json.dumps({
        "library": library,
        "types": types,
        "t1_kernel_ns": departures,
        "direction": directions,
        "fate": fates,
        "delay_ns": delays,
    }))


def present(values):
    return [None if pandas.isna(value) else value for value in values]


frame = pandas.read_parquet(PATH)
show(
    "pandas",
    str(frame.t1_kernel_ns.dtype),
    [None if time is None else time.value for time in present(frame.t1_kernel_ns)],
    present(frame.direction),
    present(frame.fate),
    [None if delay is None else int(delay) for delay in present(frame.delay_ns)],
)

rows = duckdb.execute(
    "SELECT typeof(t1_kernel_ns), epoch_ns(t1_kernel_ns), direction, fate, delay_ns FROM read_parquet(?)", [PATH]
).fetchall()
show("duckdb", rows[0][0], *([row[column] for row in rows] for column in range(1, 5)))

frame = polars.read_parquet(PATH)
show(
    "polars",
    str(frame.schema["t1_kernel_ns"]),
    frame["t1_kernel_ns"].dt.epoch("ns").to_list(),
    frame["direction"].to_list(),
    frame["fate"].to_list(),
    frame["delay_ns"].to_list(),
)

table = pyarrow.parquet.read_table(PATH)
show(
    "pyarrow",
    str(table.schema.field("t1_kernel_ns").type),
    table["t1_kernel_ns"].cast("int64").to_pylist(),
    table["direction"].to_pylist(),
    table["fate"].to_pylist(),
    table["delay_ns"].to_pylist(),
)
described = json.loads(pyarrow.parquet.read_metadata(PATH).metadata[b"romer.columns"])
assert set(described) == set(table.column_names), set(table.column_names) ^ set(described)
