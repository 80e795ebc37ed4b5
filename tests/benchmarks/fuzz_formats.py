"""Damaged files of each format: read, or refused in a sentence, and never anything else.

    python -m tests.benchmarks.fuzz_formats [NAME …] [--count 100000] [--seed 1]

A good file of each format is damaged at random: bytes are changed, removed, repeated, put in or
exchanged with words that such files have; then it is read. Any error but an ``MgraphError``, and
any file that takes longer than ten seconds, is printed with its content, and the exit status is 1.
"""

import argparse
import collections
import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import mgraph
from mgraph.io import formats
from mgraph.io.attributed_graph import read_attributed
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.graph_writer import write_attributed
from mgraph.io.listing import Attributes

SECONDS = 10
WORDS = [
    b"0", b"-1", b"1e9", b"1,5", b"0x10", b"NaN", b"inf", b"99999999999", b"18446744073709551616",
    b'"', b"\n", b"\r\n", b"\t", b",", b";", b" ", b"#", b"%", b"\0", b"\xff", b"</graph>", b"<",
    b"&", b"e", b"p", b"{", b"]", b"weight", b"source",
]  # fmt: skip


READ_ONLY = {
    ".max": "c flow\np max 3 2\nn 1 s\nn 3 t\na 1 2 5\na 2 3 7\n",
    ".min": "p min 3 2\nn 1 5\nn 3 -5\na 1 2 0 4 9\na 2 3 1 2 7\n",
    ".asn": "p asn 4 2\nn 1\nn 2\na 1 3 8\na 2 4 6\n",
    ".nt": '<a> <p> <b> .\n_:c <p> "\\u00e4 \\"d\\""@en .\n# no triple\n<b> <p> _:c .\n',
}


def good_files(folder):
    """Write a small graph in each format; return the files."""
    edges = mgraph.EdgeList([0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [5, 6, 7, 8, 9])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    plain = mgraph.from_edges(mgraph.EdgeList(edges.src, edges.dst), directed=False, backend="cpu")
    names = graph.with_labels(("a", "b c", "ä", "17", "e"))
    attributes = Attributes(
        pa.table({"since": [1, 2, 3, None, 5], "kind": ["x", "y", None, "<&>", ""]}),
        pa.table({"x": [0.5, 1, 2, 3, 4], "y": [1.0, 2, 3, 4, 5], "label": list("vwxyz")}),
    )
    files = []
    for ending in [*formats.FORMATS, ".parquet"]:
        file = folder / f"good{ending}"
        if ending in READ_ONLY:
            file.write_text(READ_ONLY[ending])
        elif formats.FORMATS.get(ending) and formats.FORMATS[ending].attributes:
            write_attributed(names, attributes, str(file), overwrite=False)
        elif ending == ".parquet":
            pq.write_table(pa.table({"src": [0, 1], "dst": [1, 2], "weight": [5, 6]}), file)
        else:
            options = {"terminals": [0, 2]} if ending == ".stp" else {}
            mgraph.write_graph(plain if ending == ".graph500" else graph, file, **options)
        files.append(file)
    return files


def damage(content, random):
    """Return the content with one to four changes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 5)):
        place = int(random.integers(0, len(content) + 1))
        length = int(random.integers(0, 9))
        kind = random.integers(0, 6)
        if kind == 0 and content:
            content[place % len(content)] = int(random.integers(0, 256))
        elif kind == 1:
            del content[place : place + length]
        elif kind == 2:
            content[place:place] = content[place : place + length]
        elif kind == 3:
            content[place:place] = WORDS[random.integers(len(WORDS))]
        elif kind == 4:
            content[place : place + length] = WORDS[random.integers(len(WORDS))]
        else:
            del content[place:]
    return bytes(content)


class Late(Exception):
    """A file takes too long."""


def _interrupt(number, frame):
    raise Late


def read(file):
    """Return how reading a file with all attributes ends: ``read``, ``refused``, or what else."""
    signal.signal(signal.SIGALRM, _interrupt)
    signal.alarm(SECONDS)
    try:
        read_attributed(str(file), ReadOptions())
        return "read"
    except mgraph.MgraphError as error:
        text = str(error)
        return "refused" if text and "\n" not in text else f"a message of {text!r}"
    except Late:
        return f"more than {SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def main():
    """Damage and read, and print a row per format."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="endings, such as .csv")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    faults = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        folder = Path(name)
        for good in good_files(folder):
            if given.names and good.suffix not in given.names:
                continue
            content, random = good.read_bytes(), np.random.default_rng(given.seed)
            file, ends = folder / f"damaged{good.suffix}", collections.Counter()
            for _ in range(given.count):
                file.write_bytes(damaged := damage(content, random))
                end = read(file)
                ends[end if end in ("read", "refused") else "fault"] += 1
                if end not in ("read", "refused"):
                    print(f"{good.suffix}: {end}: {damaged!r}")
            faults += ends["fault"]
            print(f"{good.suffix:10s} {dict(ends)}", flush=True)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
