"""The package without any library: its types, its errors, and the documents of the command line."""

import array
import inspect
import pathlib
import re
import subprocess
import sys
import unittest

import common
import romer

SCENARIO = """\
seed = [1, 2, 3, 4, 5, 6]
[a_to_b.loss]
model = "bernoulli"
probability = 0.05
[a_to_b.delay]
fixed = "12ms"
variable = { model = "gamma", shape = 2, scale = "1ms" }
[a_to_b.duplicate]
model = "bernoulli"
probability = 0.01
[b_to_a.delay]
fixed = "3ms"
"""
INTERVAL_NS = 20_000_000
PACKETS = 2_000


def arrivals():
    """Packets at both ports."""
    return [(number * INTERVAL_NS, "ab"[number % 2], 64 + number % 1000) for number in range(PACKETS)]


def without_times(document):
    """A document of an emulation without the moments at which it was computed."""
    return {key: value for key, value in document.items() if key not in ("started", "ended")}


class Run(unittest.TestCase):
    """A run on loopback."""

    @classmethod
    def setUpClass(cls):
        cls.place = common.folder()
        cls.folder = common.measured(pathlib.Path(cls.place.name) / "run")
        cls.run_ = romer.open(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def test_documents(self):
        """Documents and events are those of the command line."""
        document = common.document("analyze", self.folder)
        self.assertEqual(self.run_.document(), document)
        self.assertEqual(romer.analyze(self.folder), document)
        self.assertEqual(romer.analyze(str(self.folder)), document)
        self.assertEqual(romer.analyze(self.run_), document)
        events = [{**event, "stream": 0} for event in document["events"]]
        self.assertEqual(self.run_.events(), events)
        self.assertEqual((self.run_.path, self.run_.streams), (self.folder, 1))

    def test_probes(self):
        """Each packet has a row, and a time is a whole number of nanoseconds."""
        probes = self.run_.probes()
        document = self.run_.document()
        self.assertEqual(len(probes), 200)
        fates = probes.column("fate")
        received = sum(document[way]["packets"]["received"] for way in ("forward", "reverse"))
        self.assertEqual(fates.count("arrived"), received)
        times = probes.column("t1_kernel_ns")
        self.assertTrue(all(time is None or time > 1_700_000_000_000_000_000 for time in times))
        self.assertIn(True, probes.column("seen_by_responder"))

    def test_comparison(self):
        """A comparison is that of the command line, by paths and by opened runs."""
        document = common.document("compare", self.folder, self.folder, "--by", "forward.delay_ns.p99")
        self.assertEqual(romer.compare(self.folder, self.folder, by="forward.delay_ns.p99"), document)
        self.assertEqual(romer.compare(self.run_, self.run_, by="forward.delay_ns.p99"), document)

    def test_refusals(self):
        """What the command line refuses is refused with the same text."""
        missing = self.folder / "none"
        for call, words in [
            (lambda: romer.analyze(missing), ("analyze", missing)),
            (lambda: romer.compare(self.folder, missing), ("compare", self.folder, missing)),
            (lambda: romer.compare(self.folder, self.folder, stream_number=1),
             ("compare", self.folder, self.folder, "--stream-number", "1")),
            (lambda: romer.compare(self.folder, self.folder, by="rtt.p99"),
             ("compare", self.folder, self.folder, "--by", "rtt.p99")),
            (lambda: romer.fit(self.folder, stream_number=3),
             ("model", self.folder, "--stream-number", "3", "--write", self.folder / "m.toml")),
        ]:
            with self.assertRaises(romer.Error) as refused:
                call()
            self.assertEqual(str(refused.exception), failure(words), words)
        with self.assertRaises(romer.InputError):
            romer.analyze(self.folder, one_clock=True)


def failure(words):
    """The text with which the program refuses, whatever its exit code."""
    done = subprocess.run([common.ROMER, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode in (2, 3, 4), done
    return done.stderr.strip().removeprefix("error: ")


class Simulation(unittest.TestCase):
    """Emulation in virtual time."""

    def setUp(self):
        self.place = common.folder()
        self.folder = pathlib.Path(self.place.name)
        self.scenario = self.folder / "path.toml"
        self.scenario.write_text(SCENARIO)
        self.scenario.chmod(0o644)

    def tearDown(self):
        self.place.cleanup()

    def test_departures(self):
        """Departures, counters and seed are those of `romer emulate --offline`, for a file and for a text."""
        lines = [f"{time},{port},{size}\n" for time, port, size in arrivals()]
        (self.folder / "in.csv").write_text("time_ns,port,size\n" + "".join(lines))
        departures, json = self.folder / "out.csv", self.folder / "out.json"
        common.program(
            "emulate", "--offline", "--scenario", self.scenario, "--arrivals", self.folder / "in.csv",
            "--departures", departures, "--json", json, "--quiet",
        )
        header, *rows = departures.read_text().splitlines()
        document = without_times(common.json.loads(json.read_text()))
        for scenario in (self.scenario, str(self.scenario), SCENARIO):
            simulated = romer.simulate(scenario, arrivals())
            table = simulated.departures
            self.assertEqual(table.column_names, header.split(","))
            columns = [table.column(name) for name in table.column_names]
            written = [",".join("" if value is None else str(value) for value in row) for row in zip(*columns)]
            self.assertEqual(written, rows)
            self.assertEqual(without_times(simulated.document()), document)
            self.assertEqual(len(simulated), len(rows))

    def test_forms_of_arrivals(self):
        """Lists, tuples and buffers of times give the same departures, with the stated port and size."""
        times = [number * INTERVAL_NS for number in range(100)]
        rows = [(time, "b", 200) for time in times]
        expected = romer.simulate(SCENARIO, rows).departures.column("departure_ns")
        for given in (times, tuple(times), array.array("q", times), memoryview(array.array("q", times))):
            simulated = romer.simulate(SCENARIO, given, port="b", size=200)
            self.assertEqual(simulated.departures.column("departure_ns"), expected)

    def test_seeds(self):
        """A seed of the caller replaces that of the scenario, as text or as numbers."""
        times = [number * INTERVAL_NS for number in range(100)]
        text = romer.simulate(SCENARIO, times, seed="7,7,7,7,7,7")
        numbers = romer.simulate(SCENARIO, times, seed=[7] * 6)
        own = romer.simulate(SCENARIO, times)
        self.assertEqual(text.document()["seed"], [7] * 6)
        self.assertEqual(text.departures.column("departure_ns"), numbers.departures.column("departure_ns"))
        self.assertNotEqual(text.departures.column("departure_ns"), own.departures.column("departure_ns"))

    def test_models(self):
        """A model is that of `romer model`, and can be simulated as it is."""
        simulated = romer.simulate(SCENARIO, [(time, "a", size) for time, _, size in arrivals()])
        table = simulated.departures
        names = {"sequence": "ordinal", "size": "size", "sent_ns": "arrival_ns", "received_ns": "departure_ns"}
        columns = [table.column(name) for name in names.values()]
        rows = [",".join("" if value is None else str(value) for value in row) for row in zip(*columns)]
        log = self.folder / "log.csv"
        log.write_text(",".join(names) + "\n" + "\n".join(rows) + "\n")
        written = self.folder / "model.toml"
        document = common.document("model", log, "--write", written, "--plan", "--only-udp")
        model = romer.fit(log, plan=True, only_udp=True)
        self.assertEqual(model.document(), document)
        self.assertEqual(model.scenario, written.read_text())
        traced = romer.fit(log, trace=True, name="traced")
        self.assertTrue(traced.files and all(name.startswith("traced") for name in traced.files), traced.files)
        replayed = romer.simulate(traced, [0, INTERVAL_NS], seed="1,2,3,4,5,6")
        self.assertEqual(replayed.document()["a_to_b"]["received"], 2)

    def test_refusals(self):
        """Faulty scenarios and arrivals are refused with their place."""
        faulty = self.folder / "faulty.toml"
        faulty.write_text("[a_to_b.delay]\nfixed = \"12 parsecs\"\n")
        faulty.chmod(0o644)
        with self.assertRaises(romer.InputError) as refused:
            romer.simulate(faulty, [0])
        empty = self.folder / "in.csv"
        empty.write_text("time_ns,port,size\n")
        words = ("emulate", "--offline", "--scenario", faulty, "--arrivals", empty, "--departures", self.folder / "x")
        self.assertEqual(str(refused.exception), failure(words))
        for given, words in [
            ([-1], 'row 0 has the time "-1"'),
            ([(0, "a", 64), (5, "c", 64)], 'row 1 has the port "c"; write a or b'),
            ([(0, "a", 4)], "write bytes from 18"),
            (["soon"], "give a table"),
            (array.array("d", [0.0]), 'format "d"'),
        ]:
            with self.assertRaises(romer.InputError) as refused:
                romer.simulate(SCENARIO, given)
            self.assertIn(words, str(refused.exception))
        for scenario, seed, words in [
            ("nowhere", None, "no such scenario (scenario nowhere)"),
            (SCENARIO, "1,2", "invalid seed (seed=1,2)"),
            (SCENARIO, [0] * 6, "six zeros"),
        ]:
            with self.assertRaises(romer.InputError) as refused:
                romer.simulate(scenario, [0], seed=seed)
            self.assertIn(words, str(refused.exception))
        with self.assertRaises(romer.FileError):
            romer.simulate(self.folder / "none.toml", [0])


class Package(unittest.TestCase):
    """The names of the package."""

    def test_exceptions(self):
        """Exceptions are caught as those of Python."""
        self.assertTrue(issubclass(romer.InputError, ValueError) and issubclass(romer.FileError, OSError))
        self.assertTrue(issubclass(romer.InputError, romer.Error) and issubclass(romer.FileError, romer.Error))
        with self.assertRaises(romer.InputError):
            romer.simulate(SCENARIO, [0]).departures.column("none")

    def test_version(self):
        """The version is that of the program."""
        self.assertEqual(common.program("--version").split()[1], romer.__version__)

    def test_stubs(self):
        """The stubs have every public name with its parameters, and every public name has a docstring."""
        package = pathlib.Path(romer.__file__).parent
        stubs = (package / "__init__.pyi").read_text()
        self.assertTrue((package / "py.typed").exists())
        for name in romer.__all__:
            if name == "__version__":
                self.assertRegex(stubs, r"(?m)^__version__: str$")
                continue
            thing = getattr(romer, name)
            self.assertTrue(thing.__doc__, name)
            self.assertRegex(stubs, rf"(?m)^(class|def) {name}\b")
            if inspect.isclass(thing):
                body = re.search(rf"(?ms)^class {name}\b.*?(?=^\S)", stubs)[0]
                for member in [one for one in vars(thing) if not one.startswith("_")]:
                    self.assertRegex(body, rf"def {member}\(", f"{name}.{member}")
                    self.assertTrue(getattr(thing, member).__doc__, f"{name}.{member}")
            else:
                stated = re.search(rf"(?ms)^def {name}\((.*?)\) ->", stubs)[1]
                named = re.findall(r"(\w+):", stated)
                self.assertEqual(list(inspect.signature(thing).parameters), named, name)
                self.assertNotIn("...", str(inspect.signature(thing)), name)

    def test_reference(self):
        """The reference has every public name, and every parameter of the functions."""
        page = (common.ROOT / "docs/reference/python.md").read_text()
        for name in romer.__all__:
            if name == "__version__":
                continue
            thing = getattr(romer, name)
            self.assertIn(f"romer.{name}", page)
            if inspect.isclass(thing):
                for member in [one for one in vars(thing) if not one.startswith("_")]:
                    self.assertIn(f"`{member}", page, f"{name}.{member}")
            else:
                for parameter in inspect.signature(thing).parameters:
                    self.assertIn(f"`{parameter}`", page, f"{name}({parameter})")

    def test_imports(self):
        """The package imports nothing but the standard library."""
        script = "import romer, sys; print([name for name in ('numpy', 'pyarrow', 'pandas', 'polars') if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
