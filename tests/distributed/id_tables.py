"""Tables of edges with ids of every type, and what a conversion of them must hold."""

import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mgraph.io.dataset import EdgeDataset


def read_ids(out):
    """The ids of all vertices, in the order of their numbers."""
    files = sorted(out.glob("_vertices-*.parquet"))
    table = pa.concat_tables([pq.read_table(file) for file in files])
    assert table["vertex"].to_pylist() == list(range(len(table)))
    return table["id"].to_pylist()


def read_edges(out):
    """The rows of all parts, in order."""
    dataset = EdgeDataset(out)
    columns = zip(*(part.read() for part in dataset), strict=True)
    return list(zip(*(np.concatenate(column).tolist() for column in columns), strict=True))


def expected_rows(ids, edges, directed=True):
    """The edges by the oracle: a dictionary of all distinct ids in ascending order."""
    number = {identifier: i for i, identifier in enumerate(ids)}
    rows = []
    for src, dst, *weight in edges:
        ends = number[src], number[dst]
        rows.append((*(ends if directed else sorted(ends, reverse=True)), *weight))
    return sorted(rows)


def check(out, edges, key=None, directed=True):
    ids = read_ids(out)
    assert ids == sorted({end for edge in edges for end in edge[:2]}, key=key)
    rows = read_edges(out)
    assert rows == sorted(rows)
    assert rows == expected_rows(ids, edges, directed)
    names = {path.name for path in out.iterdir()}
    assert not [name for name in names if name.startswith("_convert")]
    return ids


KINDS = {
    "int64": lambda x: (x * 0x9E3779B97F4A7C15) % (1 << 63) - (1 << 62),
    "uint64": lambda x: (x * 0x9E3779B97F4A7C15) % (1 << 64),
    "int16": lambda x: x - 100,
    "string": lambda x: f"vertex {x * 7919 % 1000}",
    "unicode": lambda x: "é" * (x % 5) + chr(0x1F600 + x % 50) + str(x),
    "binary": lambda x: bytes([x % 256, x // 256, 0, 0]),
    "dictionary": lambda x: f"name-{x}",
    "uuid": lambda x: uuid.UUID(int=x * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128)).bytes,
    "float": lambda x: float(x + 1),
}
TYPES = {
    "int64": pa.int64(),
    "uint64": pa.uint64(),
    "int16": pa.int16(),
    "string": pa.string(),
    "unicode": pa.large_string(),
    "binary": pa.binary(),
    "dictionary": pa.string(),
    "uuid": pa.binary(16),
    "float": pa.float64(),
}


def make_edges(kind, count=300, vertices=120, weights=False, seed=1):
    random = np.random.default_rng(seed)
    ends = random.integers(0, vertices, (count, 2)).tolist()
    make = KINDS[kind]
    made = [(make(u), make(v)) for u, v in ends]
    if weights:
        drawn = random.integers(1, 100, count).tolist()
        made = [(*edge, weight) for edge, weight in zip(made, drawn, strict=True)]
    return made


def write_edges(path, kind, edges, names=("src", "dst", "weight"), **more):
    columns = {}
    for name, column in zip(names, zip(*edges, strict=True), strict=False):
        array = pa.array(column, TYPES[kind] if name != "weight" else pa.int32())
        columns[name] = array.dictionary_encode() if kind == "dictionary" else array
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns | more), path, row_group_size=37)
