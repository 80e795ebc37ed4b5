"""Renumber edges with random ids: ``mgraph convert`` beside DuckDB, on the same Parquet files.

    python -m tests.benchmarks.convert FOLDER [int str …] [--edges 1e8] [--rounds 3]
        [--files 1] [--memory 4GB] [--check]

The graph is a copy model with 8 edges per vertex, whose vertices are renamed by a hash of 64 bits,
or by text of it. DuckDB has as many threads as there are cores; it makes a table of the distinct
ids in order, joins both ends, and writes edges and vertices as Parquet. The memory of each is the
greatest sum of resident sizes of its processes. ``--memory 0`` leaves DuckDB out. ``--check``
compares a hash of all edges, by their own ids, before and after.
"""

import argparse
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
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
source, out, threads, memory = sys.argv[1:]
con = duckdb.connect()
con.execute(f"set memory_limit='{memory}'; set threads={threads}; set temp_directory='{out}/temp'; "
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


def make(folder, edges, kind, files):
    """Write the edges, unless they are there."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    model = mgraph.CopyModel(max(20, edges // 8), 8)

    def write(number):
        writer, parts = None, max(1, 12 // files)
        for part in range(number * parts, (number + 1) * parts):
            vertices = model.part(part, files * parts)
            for block in preferential_attachment.stream(model, vertices, backend="cpu"):
                columns = [pa.array(mix(ends)) for ends in (block.edges.src, block.edges.dst)]
                if kind == "str":
                    words = [
                        np.char.mod("user-%016x", ends.to_numpy().view(np.uint64))
                        for ends in columns
                    ]
                    columns = [pa.array(column) for column in words]
                table = pa.table(columns, names=["source", "target"])
                writer = writer or pq.ParquetWriter(
                    folder / f"{number}.parquet",
                    table.schema,
                    compression="lz4",
                    use_dictionary=False,
                )
                writer.write_table(table)
        if writer is not None:
            writer.close()

    with ThreadPoolExecutor(available_cores()) as threads:
        list(threads.map(write, range(files)))


def hash_edges(files, columns, id_of=None):
    """Return the sum of a hash of every edge modulo 2^64."""

    def hash_file(file):
        total = 0
        for batch in pq.ParquetFile(file).iter_batches(columns=columns):
            ends = [batch.column(side).to_numpy() for side in (0, 1)]
            if id_of is not None:
                ends = [id_of[end] for end in ends]
            source, target = (end.view(np.uint64) for end in ends)
            total += int(mix(source * np.uint64(3) + target).view(np.uint64).sum(dtype=np.uint64))
        return total

    with ThreadPoolExecutor(available_cores()) as threads:
        return sum(threads.map(hash_file, files)) % (1 << 64)


def check(source, out):
    """Compare the edges of a conversion, by their own ids, with those that it read."""
    manifest = mgraph.open_dataset(out).manifest
    pieces = [pq.read_table(out / name, columns=["id"])["id"] for name in manifest.vertex_files]
    id_of = pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks]).to_numpy()
    before = hash_edges(sorted(source.iterdir()), ["source", "target"])
    after = hash_edges([out / part.file for part in manifest.parts], ["src", "dst"], id_of)
    if before != after or not (np.diff(id_of) > 0).all():
        raise SystemExit("the edges differ")
    print(f"checked: {manifest.num_edges:,} edges, {manifest.n:,} vertices", flush=True)


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
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--memory", default="4GB", help="of DuckDB; 0: without it")
    parser.add_argument("--check", action="store_true", help="only for whole numbers")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    cores, edges = available_cores(), parse_number(given.edges)
    print(f"{cores} cores, {edges:,} edges, medians of {given.rounds}")
    print(f"{'ids':5s} {'mgraph s':>9s} {'GB':>5s} {'DuckDB s':>9s} {'GB':>5s} {'ratio':>6s}")
    out, duck = given.folder / "ours", given.folder / "theirs"
    for kind in given.kinds:
        source = given.folder / kind
        make(source, edges, kind, given.files)
        ours, theirs = [], []
        for _ in range(given.rounds):
            for folder in (out, duck):
                shutil.rmtree(folder, ignore_errors=True)
            command = [sys.executable, "-m", "mgraph", "convert", source, out, "-q"]
            ours.append(run([*map(str, command)]))
            if given.check and kind == "int":
                check(source, out)
            if given.memory != "0":
                shutil.rmtree(out)
                duck.mkdir()
                files = source / "*.parquet"
                command = [sys.executable, "-c", DUCKDB, files, duck, cores, given.memory]
                theirs.append(run([*map(str, command)]))
        row = f"{kind:5s}"
        for seconds, memory in (sorted(each)[len(each) // 2] for each in (ours, theirs) if each):
            row += f" {seconds:9.1f} {memory:5.1f}"
        if theirs:
            row += f" {sorted(ours)[len(ours) // 2][0] / sorted(theirs)[len(theirs) // 2][0]:6.2f}"
        print(row, flush=True)
        for folder in (out, duck):
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
