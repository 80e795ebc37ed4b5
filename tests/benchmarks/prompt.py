"""From the prompt to the answer: whole commands beside PyArrow's threads on the same bytes.

    python -m tests.benchmarks.prompt FOLDER [STEP …] [-n 125e6] [-d 8] [--weights 1:100]
        [--backend gpu] [--rounds 3]

Each command is a process of its own, timed by the clock on the wall; the first run of each, which
may compile, is shown apart, and the others' median counts. The anchors are computed in this
process, with one thread per core: PyArrow, on the files that the commands have written into FOLDER,
or NetworKit.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mgraph.core.host import available_cores
from mgraph.core.numbers import parse_number

SOURCES = 64
UNUSUAL = "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"


def run(*arguments):
    """Run a command of mgraph's; return its seconds on the wall."""
    # As in a person's shell: Python keeps what it compiles of its modules, a second of imports.
    environment = {name: value for name, value in os.environ.items() if name not in UNUSUAL}
    began = time.perf_counter()
    command = [sys.executable, "-m", "mgraph", *map(str, arguments), "-q"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - began


def in_threads(function, items):
    """Call a function for each item, with one thread per core; return the seconds."""
    began = time.perf_counter()
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(function, items))
    return time.perf_counter() - began


def decode(file, columns=None):
    """Decode a file in blocks of 2^20 rows, as a reader does that keeps none."""
    for _ in pq.ParquetFile(file).iter_batches(1 << 20, columns=columns, use_threads=False):
        pass


def parts_of(folder):
    """The parts of a dataset or of results."""
    return sorted(Path(folder).glob("part-*.parquet"))


def rewrite(folder, spare):
    """Seconds in which PyArrow writes all parts of a folder again, as they are encoded."""
    files = parts_of(folder)
    with ThreadPoolExecutor(available_cores()) as pool:
        tables = list(pool.map(lambda file: pq.read_table(file, use_threads=False), files))
    spare.mkdir(exist_ok=True)

    def write(job):
        file, table = job
        metadata = pq.ParquetFile(file).metadata
        compression = metadata.row_group(0).column(0).compression.lower()
        with pq.ParquetWriter(
            spare / file.name,
            table.schema,
            compression="lz4" if compression.startswith("lz4") else compression,
            use_dictionary=False,
            column_encoding=dict.fromkeys(table.schema.names, "BYTE_STREAM_SPLIT"),
            write_statistics=table.schema.names[:1],
        ) as writer:
            rows = metadata.row_group(0).num_rows
            writer.write_table(table, row_group_size=rows)

    seconds = in_threads(write, list(zip(files, tables, strict=True)))
    for file in spare.iterdir():
        file.unlink()
    return seconds


def networkit(n):
    """Seconds in which NetworKit generates a graph of n vertices and keeps it in memory."""
    import networkit

    networkit.setNumberOfThreads(available_cores())
    generator = networkit.generators.BarabasiAlbertGenerator(8, parse_number(n), 8)
    began = time.perf_counter()
    generator.generate()
    return time.perf_counter() - began


class Steps:
    """The commands and their anchors, in an order in which each finds its input."""

    def __init__(self, given):
        self.folder, self.given = Path(given.folder), given
        self.graph, self.spare = self.folder / "graph", self.folder / "spare"
        self.backend = ["--backend", given.backend]
        model = ["-n", given.n, "-d", given.d]
        self.model = [*model, *(["--weights", given.weights] if given.weights else [])]

    def little(self):
        """``generate`` of a thousand vertices."""
        return (
            ["generate", self.folder / "little", "-n", 1000, "--overwrite", *self.backend],
            None,
        )

    def million(self):
        """``generate`` of a million vertices."""
        return (
            ["generate", self.folder / "million", "-n", "1e6", "--overwrite", *self.backend],
            None,
        )

    def networkit(self):
        """``generate`` of 10^8 edges beside NetworKit's generator alone, if it is installed."""
        n, folder = "12.5e6", self.folder / "networkit"
        return (
            ["generate", folder, "-n", n, "-d", 8, "--overwrite", *self.backend],
            (lambda: networkit(n)) if importlib.util.find_spec("networkit") else None,
        )

    def generate(self):
        """``generate`` beside PyArrow's threads that write the same parts."""
        command = ["generate", self.graph, *self.model, "--overwrite", *self.backend]
        return command, lambda: rewrite(self.graph, self.spare)

    def sssp(self):
        """``sssp --source 0`` beside the decoding of all columns."""
        return ["sssp", self.graph, "--source", 0, *self.backend], self.decode_all

    def msf(self):
        """``msf`` beside the decoding of all columns."""
        return ["msf", self.graph, *self.backend], self.decode_all

    def degrees(self):
        """``degrees`` beside the decoding of src and dst."""
        return ["degrees", self.graph, *self.backend], self.decode_ends

    def verify(self):
        """``verify`` beside the decoding of all columns."""
        return ["verify", self.graph, *self.backend], self.decode_all

    def regenerate(self):
        """``verify --regenerate 0.2`` beside the decoding of all columns."""
        return ["verify", self.graph, "--regenerate", 0.2, *self.backend], self.decode_all

    def searches(self):
        """``sssp --random`` that writes nothing."""
        return ["sssp", self.graph, "--random", self.given.sources, *self.backend], None

    def rows(self):
        """The same with ``--out``, distances alone, beside threads that write the rows."""
        out = self.folder / "rows"
        command = [
            "sssp", self.graph, "--random", self.given.sources, "--no-predecessors", "--out", out,
            "--overwrite", *self.backend,
        ]  # fmt: skip
        return command, lambda: rewrite(out, self.spare)

    def decode_all(self):
        """Seconds of decoding."""
        return in_threads(decode, parts_of(self.graph))

    def decode_ends(self):
        """Seconds of decoding src and dst."""
        return in_threads(lambda file: decode(file, ["src", "dst"]), parts_of(self.graph))


NAMES = [name for name in vars(Steps) if not name.startswith(("_", "decode"))]


def main():
    """Run and print a row per step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(NAMES))
    parser.add_argument("-n", default="125e6")
    parser.add_argument("-d", type=int, default=8)
    parser.add_argument("--weights", default="1:100")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=int, default=SOURCES)
    given = parser.parse_args()
    parse_number(given.n)
    steps = Steps(given)
    steps.folder.mkdir(parents=True, exist_ok=True)
    if not parts_of(steps.graph):
        run("generate", steps.graph, *steps.model, *steps.backend)
    pa.set_cpu_count(available_cores())
    print(f"{available_cores()} cores, backend {given.backend}, {' '.join(map(str, steps.model))}")
    print(f"{'step':12s} {'first s':>8s} {'median s':>9s} {'anchor s':>10s}")
    for name in given.steps or NAMES:
        command, anchor = getattr(steps, name)()
        first, *others = [run(*command) for _ in range(1 + given.rounds)]
        theirs = f"{min(anchor() for _ in range(2)):10.2f}" if anchor else ""
        print(f"{name:12s} {first:8.2f} {statistics.median(others):9.2f} {theirs}", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("DASK_MGRAPH__DASHBOARD", "127.0.0.1:0")
    main()
