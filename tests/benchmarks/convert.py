"""Renumber edges with random ids: ``mgraph convert`` beside DuckDB, on the same Parquet file.

    python -m tests.benchmarks.convert FOLDER [int str …] [--edges 1e8] [--rounds 3]

The graph is a copy model with 8 edges per vertex, whose vertices are renamed by a hash of 64 bits,
or by text of it. DuckDB has as many threads as there are cores and 4 GB of memory; it makes a table
of the distinct ids in order, joins both ends, and writes edges and vertices as Parquet. The memory
of each is the greatest sum of resident sizes of its processes.
"""

import argparse
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import mgraph
from mgraph.core.host import available_cores
from mgraph.core.numbers import parse_number
from mgraph.generators import preferential_attachment

DUCKDB = """
import duckdb, sys
source, out, threads = sys.argv[1:]
con = duckdb.connect()
con.execute(f"set memory_limit='4GB'; set threads={threads}; set temp_directory='{out}/temp'; "
            "set preserve_insertion_order=false")
con.execute(f'''create temp table vertices as
  select row_number() over (order by id) - 1 as vertex, id from
  (select distinct id from (select source as id from '{source}'
   union all select target from '{source}'))''')
con.execute(f"copy vertices to '{out}/vertices.parquet' (compression lz4)")
con.execute(f'''copy (select a.vertex::int as src, b.vertex::int as dst from '{source}' e
  join vertices a on e.source = a.id join vertices b on e.target = b.id)
  to '{out}/edges.parquet' (compression lz4)''')
"""


def mix(vertices):
    """A different 64-bit integer for each vertex (the finalizer of SplitMix64)."""
    words = vertices.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return (words ^ (words >> np.uint64(31))).view(np.int64)


def make(file, edges, kind):
    """Write the edges, unless the file is there."""
    if file.exists():
        return
    model = mgraph.CopyModel(max(20, edges // 8), 8)
    writer = None
    for number in range(12):
        blocks = preferential_attachment.stream(model, model.part(number, 12), backend="cpu")
        for block in blocks:
            columns = [pa.array(mix(ends)) for ends in (block.edges.src, block.edges.dst)]
            if kind == "str":
                words = [
                    np.char.mod("user-%016x", ends.to_numpy().view(np.uint64)) for ends in columns
                ]
                columns = [pa.array(column) for column in words]
            table = pa.table(columns, names=["source", "target"])
            writer = writer or pq.ParquetWriter(
                file, table.schema, compression="lz4", use_dictionary=False
            )
            writer.write_table(table)
    writer.close()


def run(command):
    """Return the seconds that a command takes, and the greatest memory of its processes in GB."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    largest, over = 0, threading.Event()

    def watch():
        nonlocal largest
        while not over.wait(0.2):
            try:
                own = psutil.Process(process.pid)
                family = [own, *own.children(recursive=True)]
                largest = max(largest, sum(each.memory_info().rss for each in family))
            except psutil.Error:
                pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = process.wait()
    seconds = time.perf_counter() - began
    over.set()
    watcher.join()
    if status:
        raise SystemExit(f"{command[:4]} failed")
    return seconds, largest / 1e9


def main():
    """Run both in turn, and print a row per kind of ids."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", default=["int", "str"])
    parser.add_argument("--edges", default="1e8")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    cores, edges = available_cores(), parse_number(given.edges)
    print(f"{cores} cores, {edges:,} edges, medians of {given.rounds}")
    print(f"{'ids':5s} {'mgraph s':>9s} {'GB':>5s} {'DuckDB s':>9s} {'GB':>5s} {'ratio':>6s}")
    for kind in given.kinds:
        file = given.folder / f"{kind}.parquet"
        make(file, edges, kind)
        ours, theirs = [], []
        for _ in range(given.rounds):
            out, duck = given.folder / "ours", given.folder / "theirs"
            for folder in (out, duck):
                shutil.rmtree(folder, ignore_errors=True)
            duck.mkdir()
            command = [sys.executable, "-m", "mgraph", "convert", file, out, "-q"]
            ours.append(run([*map(str, command)]))
            command = [sys.executable, "-c", DUCKDB, file, duck, cores]
            theirs.append(run([*map(str, command)]))
        (seconds, memory), (duck_seconds, duck_memory) = (
            sorted(each)[len(each) // 2] for each in (ours, theirs)
        )
        print(
            f"{kind:5s} {seconds:9.1f} {memory:5.1f} {duck_seconds:9.1f} {duck_memory:5.1f} "
            f"{seconds / duck_seconds:6.2f}",
            flush=True,
        )
        for folder in (out, duck):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
