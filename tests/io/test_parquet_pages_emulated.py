"""Parquet pages decoded on a GPU, on the emulator: as Arrow decodes them, or not at all."""

import contextlib
import ctypes

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core.edges import COLUMNS
from mgraph.cuda.transfer import FileBytes
from mgraph.io import parquet_groups, parquet_pages_gpu
from mgraph.io.folder import Folder
from tests import emulator
from tests.emulator.device import Device, DeviceArray

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")
GUARD = 64  # bytes before and after each column, which must stay as they are
DTYPES = ("int32", "int64", "float32", "float64")


@pytest.fixture(scope="module", autouse=True)
def device():
    def device_memory(size):
        return emulator.poisoned(size, np.uint8).view(DeviceArray), contextlib.nullcontext()

    def fill_device(ranges, file):
        for target, first, size in ranges:
            memory = (ctypes.c_uint8 * size).from_address(target)
            file.read_into(first, np.frombuffer(memory, np.uint8))
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_pages_gpu, "device_memory", device_memory)
        patch.setattr(parquet_pages_gpu, "fill_device", fill_device)
        patch.setattr(parquet_pages_gpu, "_BLOCKS", 3)
        with Device(64, 2).patched(patch, parquet_pages_gpu) as one:
            yield one


def values_of(data, rows, dtype):
    """Values that LZ4 compresses in all its ways: runs, periods, few symbols, or not at all."""
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    size = rows * np.dtype(dtype).itemsize
    pieces, total = [], 0
    while total < size:
        length = data.draw(st.integers(1, 3000))
        kind = data.draw(st.sampled_from(["run", "period", "few", "any"]))
        if kind == "run":
            piece = np.full(length, random.integers(256))
        elif kind == "period":
            piece = np.resize(random.integers(0, 256, data.draw(st.integers(2, 600))), length)
        else:
            piece = random.integers(0, 5 if kind == "few" else 256, length)
        pieces.append(piece.astype(np.uint8))
        total += length
    raw = np.concatenate(pieces)[:size]
    return np.ascontiguousarray(raw.reshape(-1, rows).T).reshape(-1).view(dtype)


def write(path, columns, **options):
    table = pa.table(
        {name: pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size,
                                     [None, pa.py_buffer(values)])
         for name, values in columns.items()},
        schema=pa.schema([pa.field(name, pa.from_numpy_dtype(values.dtype), nullable=False)
                          for name, values in columns.items()]),
    )  # fmt: skip
    pq.write_table(table, path, use_dictionary=False, **options)


def decode(path, dtypes, change=None):
    """The columns of a file's row groups, each within its guards, or None."""
    folder, name = Folder(path.parent), path.name
    groups = parquet_groups.RowGroups(folder, name).locate(list(map(np.dtype, dtypes)))
    assert all(group.chunks is not None for group in groups)
    rows = sum(group.rows for group in groups)
    guarded = [emulator.poisoned(2 * GUARD + rows * np.dtype(d).itemsize, np.uint8) for d in dtypes]
    columns = [
        memory[GUARD:-GUARD].view(dtype).view(DeviceArray)
        for memory, dtype in zip(guarded, dtypes, strict=True)
    ]
    with parquet_groups.reading_bytes(folder, name) as file:

        def read(begin, memory):
            file.read_into(begin, memory)
            if change:
                change(memory)

        is_decoded = parquet_pages_gpu.Decoder().decode(groups, columns, FileBytes(read))
    for memory in guarded:
        assert (memory[:GUARD] == 0xA5).all()
        assert (memory[-GUARD:] == 0xA5).all()
    return columns if is_decoded else None


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_columns_are_arrows(tmp_path_factory, device, data):
    device.seed = data.draw(st.integers(1, 1 << 30))
    dtypes = [data.draw(st.sampled_from(DTYPES)) for _ in range(data.draw(st.integers(2, 3)))]
    rows = data.draw(st.integers(1, 4000))
    columns = {
        name: values_of(data, rows, dtype) for name, dtype in zip(COLUMNS, dtypes, strict=False)
    }
    split = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("pages") / "part-00000.parquet"
    page_size = data.draw(st.sampled_from([64, 3000, 1 << 20]))
    write(
        path,
        columns,
        compression=data.draw(st.sampled_from(["lz4", "none"])),
        column_encoding=dict.fromkeys(columns, "BYTE_STREAM_SPLIT" if split else "PLAIN"),
        data_page_size=page_size,
        write_batch_size=data.draw(st.sampled_from([50, 1 << 16])),
        row_group_size=data.draw(st.sampled_from([1000, 5000])),
        write_statistics=data.draw(st.booleans()),
        write_page_checksum=data.draw(st.booleans()),
    )
    found = decode(path, dtypes)
    if found is None:
        assert page_size == 64  # of which there may be too many
        return
    for values, expected in zip(found, columns.values(), strict=True):
        np.testing.assert_array_equal(values.view(np.uint8), expected.view(np.uint8))


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_damaged_bytes_stay_within_their_columns(tmp_path_factory, device, data):
    device.seed = data.draw(st.integers(1, 1 << 30))
    rows = data.draw(st.integers(1, 1500))
    columns = {name: values_of(data, rows, "int32") for name in ("src", "dst")}
    path = tmp_path_factory.mktemp("pages") / "part-00000.parquet"
    encoding = dict.fromkeys(columns, "BYTE_STREAM_SPLIT")
    write(path, columns, compression="lz4", column_encoding=encoding, data_page_size=2000)
    places = data.draw(st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=4))
    values = st.one_of(st.sampled_from([0, 1, 15, 240, 255]), st.integers(0, 255))

    def damage(memory):
        for place in places:
            memory[int(place * memory.size)] = data.draw(values)

    decode(path, ["int32", "int32"], damage)


@pytest.mark.parametrize(
    ("options", "dtypes"),
    [
        ({"compression": "zstd"}, ["int32", "int32"]),
        ({"compression": "snappy"}, ["int32", "int32"]),
        ({"compression": "lz4"}, ["int64", "int32"]),
        ({"column_encoding": {"src": "DELTA_BINARY_PACKED"}}, ["int32", "int32"]),
        ({"compression": "lz4"}, ["int32"]),  # but there are weights
    ],
)
def test_what_only_arrow_decodes_has_no_chunks(tmp_path, options, dtypes):
    columns = {name: np.arange(10, dtype=np.int32) for name in COLUMNS}
    if len(dtypes) > 1:
        del columns["weight"]
    write(tmp_path / "x.parquet", columns, **options)
    file = parquet_groups.RowGroups(Folder(tmp_path), "x.parquet")
    groups = file.locate(list(map(np.dtype, dtypes)))
    assert [group.chunks for group in groups] == [None]


@pytest.mark.parametrize("options", [{"use_dictionary": True}, {"nulls": True}])
def test_columns_of_other_programs_have_no_chunks(tmp_path, options):
    values = pa.array([1, None if options.pop("nulls", False) else 2], pa.int32())
    pq.write_table(pa.table({"src": values, "dst": values}), tmp_path / "x.parquet", **options)
    groups = parquet_groups.RowGroups(Folder(tmp_path), "x.parquet").locate([np.dtype("int32")] * 2)
    assert [group.chunks for group in groups] == [None]


def test_pages_of_version_2_are_left_to_arrow(tmp_path):
    columns = {name: np.arange(1000, dtype=np.int32) for name in ("src", "dst")}
    write(tmp_path / "x.parquet", columns, data_page_version="2.0", compression="none")
    assert decode(tmp_path / "x.parquet", ["int32", "int32"]) is None
