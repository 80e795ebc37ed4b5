"""Parquet decoded on a GPU: every file that mgraph writes, as the CPU reads it."""

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, DatasetError
from mgraph.io import graph_dataset, parquet_pages_gpu
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest

pytestmark = pytest.mark.gpu


@pytest.fixture
def decoded(monkeypatch):
    """Whether each call of ``decode`` succeeded."""
    results, decode = [], parquet_pages_gpu.Decoder.decode

    def decode_and_note(*arguments):
        results.append(decode(*arguments))
        return results[-1]

    monkeypatch.setattr(parquet_pages_gpu.Decoder, "decode", decode_and_note)
    return results


def assert_read_alike(path):
    dataset = mgraph.open_dataset(path)
    on_gpu, expected = (graph_dataset.read(dataset, backend).edges for backend in ("gpu", "cpu"))
    for column, values in zip(on_gpu, expected, strict=True):
        if values is not None:
            np.testing.assert_array_equal(column.get(), values)


@pytest.mark.parametrize("compression", ["lz4", "none", "zstd"])
@pytest.mark.parametrize("weights", [None, (1, 100)])
@pytest.mark.parametrize("n", [60, 1_000_000])
def test_files_of_mgraph(tmp_path, decoded, compression, weights, n):
    model = CopyModel(n, 4, weights=weights)
    mgraph.generate(
        tmp_path / "g", model, backend="cpu", compression=compression, parts=2, progress=None
    )
    assert_read_alike(tmp_path / "g")
    assert decoded == [True] * len(decoded)
    assert bool(decoded) == (compression == "lz4")  # the others are Arrow's


def test_many_row_groups_and_64_bits(tmp_path, decoded):
    rng, rows, n = np.random.default_rng(1), 5_000_000, 1 << 33
    src, dst = np.sort(rng.integers(0, n, rows)), rng.integers(0, n, rows)
    folder = Folder(tmp_path / "g")
    folder.create()
    parts = graph_dataset.write_parts(mgraph.EdgeList(src, dst, rng.random(rows)), n, folder)
    weight = {"weight_dtype": "float64"}
    Manifest({}, n, rows, "int64", "lz4", tuple(parts), **weight).write(folder)
    assert_read_alike(tmp_path / "g")
    assert decoded
    assert all(decoded)


def test_a_damaged_file_has_one_clear_sentence(tmp_path, decoded):
    mgraph.generate(tmp_path / "g", CopyModel(500_000, 4), backend="cpu", parts=1, progress=None)
    path = tmp_path / "g" / "part-00000.parquet"
    content = bytearray(path.read_bytes())
    content[4:60] = bytes(56)
    path.write_bytes(content)
    with pytest.raises(DatasetError, match="is damaged"):
        graph_dataset.read(mgraph.open_dataset(tmp_path / "g"), "gpu")
    assert False in decoded
