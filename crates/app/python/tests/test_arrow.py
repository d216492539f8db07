"""Tables in the libraries that read Arrow: DuckDB, pandas, polars and pyarrow."""

import pathlib
import unittest

import duckdb
import pandas
import pandas.testing
import polars
import polars.testing
import pyarrow
import pyarrow.parquet

import common
import romer
from test_package import INTERVAL_NS, SCENARIO, arrivals, without_times


class Probes(unittest.TestCase):
    """The packets of a run."""

    @classmethod
    def setUpClass(cls):
        cls.place = common.folder()
        cls.folder = common.measured(pathlib.Path(cls.place.name) / "run")
        cls.probes = romer.open(cls.folder).probes()
        cls.parquet = cls.folder / "packets.parquet"

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_polars(self):
        """polars reads the same names, types and values as from packets.parquet."""
        polars.testing.assert_frame_equal(polars.DataFrame(self.probes), polars.read_parquet(self.parquet))

    def test_pyarrow(self):
        """pyarrow reads the same columns, and the metadata has the schema and the descriptions of the columns."""
        table, file = pyarrow.table(self.probes), pyarrow.parquet.read_table(self.parquet)
        self.assertEqual(table.schema.remove_metadata().names, file.schema.names)
        self.assertTrue(table.equals(file.cast(table.schema)))
        self.assertEqual(table.schema.types, file.schema.types)
        self.assertEqual(table.schema.metadata[b"romer.schema"], b"romer/packets/2")
        file_metadata = pyarrow.parquet.read_metadata(self.parquet).metadata
        described = [common.json.loads(one[b"romer.columns"]) for one in (table.schema.metadata, file_metadata)]
        self.assertEqual(*described)

    def test_pandas(self):
        """pandas reads the same frame as from packets.parquet."""
        pandas.testing.assert_frame_equal(
            pandas.DataFrame.from_arrow(self.probes), pandas.read_parquet(self.parquet)
        )

    def test_duckdb(self):
        """DuckDB reads the same rows as from packets.parquet."""
        probes = self.probes
        rows = duckdb.sql("SELECT * FROM probes").fetchall()
        self.assertEqual(rows, duckdb.sql(f"SELECT * FROM '{self.parquet}'").fetchall())
        self.assertEqual(len(rows), 200)

    def test_no_copies(self):
        """Two readers get the same memory."""
        first, second = pyarrow.table(self.probes), pyarrow.table(self.probes)
        for name in self.probes.column_names:
            addresses = [
                [buffer and buffer.address for buffer in table[name].chunk(0).buffers()] for table in (first, second)
            ]
            self.assertEqual(*addresses, name)

    def test_lifetime(self):
        """Columns live as long as their reader, not as the table."""
        table = pyarrow.table(romer.open(self.folder).probes())
        self.assertEqual(table["sequence"].to_pylist(), self.probes.column("sequence"))


class Tables(unittest.TestCase):
    """Tables of other libraries as inputs."""

    def test_arrivals(self):
        """Each library's table gives the departures of a list."""
        rows = arrivals()
        expected = romer.simulate(SCENARIO, rows)
        columns = dict(zip(("time_ns", "port", "size"), map(list, zip(*rows))))
        table = pyarrow.table(columns)
        dictionary = table.set_column(1, "port", table["port"].dictionary_encode())
        frame = polars.DataFrame(columns)
        for given in (
            table,
            table.to_batches()[0],
            dictionary,
            pandas.DataFrame(columns),
            frame,
            frame.with_columns(polars.col("time_ns").cast(polars.Datetime("ns")), polars.col("port").cast(polars.Categorical)),
            duckdb.sql("SELECT * FROM frame").arrow(),
        ):
            simulated = romer.simulate(SCENARIO, given)
            self.assertTrue(pyarrow.table(simulated).equals(pyarrow.table(expected)), type(given))
            self.assertEqual(without_times(simulated.document()), without_times(expected.document()))

    def test_partial_arrivals(self):
        """A table with times only has the stated port and size; one without times, or with other types, is refused."""
        times = [number * INTERVAL_NS for number in range(50)]
        simulated = romer.simulate(SCENARIO, polars.DataFrame({"time_ns": times}), port="b", size=99)
        self.assertEqual(set(simulated.departures.column("size")), {99})
        self.assertEqual(set(simulated.departures.column("port")), {"b"})
        for columns, words in [
            ({"time": times}, "there is no time_ns"),
            ({"time_ns": [0.5]}, "column time_ns): its type is Float64"),
            ({"time_ns": [None, 1]}, 'row 0 has the time "null"'),
            ({"time_ns": [1], "port": [1]}, "romer reads text, a or b"),
        ]:
            with self.assertRaises(romer.InputError) as refused:
                romer.simulate(SCENARIO, polars.DataFrame(columns))
            self.assertIn(words, str(refused.exception))
        with self.assertRaises(romer.InputError) as refused:
            romer.simulate(SCENARIO, pyarrow.array(times))
        self.assertIn("give a table", str(refused.exception))

    def test_analysis(self):
        """A table has the document of the same packet log in a file."""
        frame = polars.DataFrame(romer.simulate(SCENARIO, [(time, "a", size) for time, _, size in arrivals()]))
        log = frame.select(
            sequence="ordinal", size="size", sent_ns="arrival_ns", received_ns="departure_ns", note=polars.lit("x")
        )
        with common.folder() as place:
            file = pathlib.Path(place) / "log.csv"
            log.drop("note").write_csv(file)
            expected = romer.analyze(file, one_clock=True, waiting_time_ns=100_000_000)
            words = ("--clocks", "shared", "--waiting-time", "100ms")
            self.assertEqual(expected["forward"], common.document("analyze", file, *words)["forward"])
            self.assertEqual(expected["target"], str(file))
        document = romer.analyze(log, one_clock=True, waiting_time_ns=100_000_000)
        for key in ("forward", "warnings", "findings", "clock"):
            self.assertEqual(document[key], expected[key], key)
        self.assertGreater(document["forward"]["packets"]["lost"], 50)

    def test_refused_tables(self):
        """A table that is no packet log is refused with the line, or with the column and its type."""
        for columns, words in [
            ({"sequence": [0], "size": [1]}, "bad packet log (table:1)"),
            ({"sequence": [0], "size": [1], "sent_ns": [1.5], "received_ns": [2]}, "column sent_ns): its type is Float64"),
            ({"sequence": [0, -1], "size": [1, 1], "sent_ns": [1, 2], "received_ns": [2, 3]}, "bad packet log (table:3)"),
        ]:
            with self.assertRaises(romer.InputError) as refused:
                romer.analyze(polars.DataFrame(columns))
            self.assertIn(words, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
