"""Parts in every encoding are read back the same, also by other programs; damage is detected."""

import errno

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, EdgeList, StorageError, UsageError
from mgraph.io import parquet, parquet_groups
from mgraph.io.folder import Folder


def write(folder, blocks, dtype=np.int32, compression="lz4", name="part-00000.parquet"):
    columns = {"src": dtype, "dst": dtype}
    with parquet.writing_part(Folder(folder), name, columns, compression) as writer:
        for block in blocks:
            writer.write(block)
        writer.close({"part": 0})


@pytest.mark.parametrize("compression", parquet.COMPRESSIONS)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_written_blocks_are_read_back(data, dtype, compression, tmp_path_factory):
    folder = tmp_path_factory.mktemp("part")
    largest = np.iinfo(dtype).max if dtype is np.int32 else 1 << 40
    blocks = []
    for size in data.draw(st.lists(st.integers(0, 500), max_size=4)):
        random = np.random.default_rng(data.draw(st.integers(0, 99)))
        src = np.sort(random.integers(0, largest, size)).astype(dtype)
        blocks.append(EdgeList(src, random.integers(0, largest, size).astype(dtype)))
    write(folder, blocks, dtype, compression)
    read = list(parquet.read_blocks(Folder(folder), "part-00000.parquet"))
    for column in ("src", "dst"):
        ours = np.concatenate([np.empty(0, dtype), *(getattr(b, column) for b in blocks)])
        back = np.concatenate([np.empty(0, dtype), *(getattr(b, column) for b in read)])
        np.testing.assert_array_equal(back, ours)
    table = pq.read_table(folder / "part-00000.parquet")
    assert table.schema.names == ["src", "dst"]
    assert table.num_rows == sum(b.src.size for b in blocks)


def test_blocks_may_be_overwritten_after_writing(tmp_path):
    src, dst = np.arange(1000, dtype=np.int32), np.arange(1000, dtype=np.int32)[::-1].copy()

    def blocks():
        yield EdgeList(src, dst)
        src[:] = dst[:] = 7
        yield EdgeList(src, dst)

    write(tmp_path, blocks())
    first, second = (
        next(parquet.read_blocks(Folder(tmp_path), "part-00000.parquet", groups=groups))
        for groups in (slice(0, 1), slice(1, 2))
    )
    np.testing.assert_array_equal(first.src, np.arange(1000))
    assert (second.src == 7).all()
    groups = parquet_groups.RowGroups(Folder(tmp_path), "part-00000.parquet")
    assert groups.rows == [1000, 1000]


def test_only_src_has_statistics(tmp_path):
    write(tmp_path, [EdgeList(np.arange(10, dtype=np.int32), np.arange(10, dtype=np.int32))])
    group = pq.ParquetFile(tmp_path / "part-00000.parquet").metadata.row_group(0)
    assert (group.column(0).statistics.min, group.column(0).statistics.max) == (0, 9)
    assert group.column(1).statistics is None


def test_the_footer_identifies_the_part(tmp_path):
    write(tmp_path, [EdgeList(np.zeros(3, np.int32), np.zeros(3, np.int32))])
    metadata = parquet.read_metadata(Folder(tmp_path), "part-00000.parquet")
    assert metadata == {"part": 0, "rows": 3}


@pytest.mark.parametrize("keep", [0, 3, 100])
def test_a_truncated_part_is_detected(tmp_path, keep):
    write(tmp_path, [EdgeList(np.arange(999, dtype=np.int32), np.arange(999, dtype=np.int32))])
    file = tmp_path / "part-00000.parquet"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(DatasetError, match="not a complete Parquet file"):
        list(parquet.read_blocks(Folder(tmp_path), file.name))


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"),
        OSError(errno.EMFILE, "Too many open files"),
        OSError("When reading information for key 'g': AWS Error NETWORK_CONNECTION: no answer"),
    ],
)
@pytest.mark.parametrize("when", ["open", "call"])
def test_a_part_that_cannot_be_read_is_not_taken_for_damaged(tmp_path, monkeypatch, error, when):
    write(tmp_path, [EdgeList(np.array([1], np.int32), np.array([0], np.int32))])

    def fail(*_):
        raise error

    for what in (
        lambda: parquet.read_metadata(Folder(tmp_path), "part-00000.parquet"),
        lambda: mgraph.read_graph(tmp_path),  # of an unfinished dataset, which is no whole one
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Folder, when, fail)
            with pytest.raises(StorageError):
                what()
    with pytest.raises(DatasetError, match="unfinished dataset"):
        mgraph.read_graph(tmp_path)


def test_a_missing_part_and_foreign_files_are_named(tmp_path):
    with pytest.raises(DatasetError, match="is missing"):
        list(parquet.read_blocks(Folder(tmp_path), "part-00000.parquet"))
    import pyarrow as pa

    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    with pytest.raises(DatasetError, match=r"must have columns src, dst \(got x\)"):
        list(parquet.read_blocks(Folder(tmp_path), "x.parquet"))
    with pytest.raises(DatasetError, match="not written by mgraph"):
        parquet.read_metadata(Folder(tmp_path), "x.parquet")


def test_a_failed_part_leaves_nothing(tmp_path):
    def blocks():
        yield EdgeList(np.zeros(3, np.int32), np.zeros(3, np.int32))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write(tmp_path, blocks())
    assert list(tmp_path.iterdir()) == []


def test_compressions_are_named():
    with pytest.raises(UsageError, match="none, lz4, zstd"):
        parquet.check_compression("gzip")
