"""Copies of ranges of files without the interpreter, with callbacks in place of a device."""

import ctypes
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import cancellation
from mgraph.core.file_pieces import copy_pieces

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int64] * 4)
STREAM = 7


class Device:
    """Copies when an event is waited for, as late as a device may."""

    def __init__(self, failing=None):
        self.begun, self.recorded, self.failing = [], {}, failing
        self.functions = [FUNCTION(getattr(self, name)) for name in ("copy", "record", "wait")]

    def calls(self):
        names = [ctypes.CDLL(None).pread, *self.functions]
        return [ctypes.cast(name, ctypes.c_void_p).value for name in names]

    def copy(self, target, address, size, stream):
        assert stream == STREAM
        self.begun.append((target, address, size))
        return int(self.failing == "copy")

    def record(self, event, stream, *_):
        assert stream == STREAM
        self.recorded[event], self.begun = self.begun, []
        return int(self.failing == "record")

    def wait(self, event, *_):
        for copy in self.recorded.pop(event, []):
            ctypes.memmove(*copy)
        return int(self.failing == "wait")

    def end(self):
        for event in list(self.recorded):
            self.wait(event)


def copy(path, ranges, piece, device, buffers=2):
    """Copy (begin, size) ranges; return whether that succeeded, and what arrived."""
    targets = [np.zeros(size, np.uint8) for _, size in ranges]
    table = [
        (target.ctypes.data, *each) for target, each in zip(targets, ranges, strict=True)
    ] or np.empty((0, 3))
    memory = np.zeros((buffers, piece), np.uint8)
    places = [(memory[side].ctypes.data, 100 + side) for side in range(buffers)]
    with open(path, "rb") as file:
        is_done = copy_pieces(
            file.fileno(), np.array(table, np.int64), np.array(places, np.int64), piece, STREAM,
            device.calls(),
        )  # fmt: skip
    device.end()
    return is_done, targets


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("pieces") / "bytes"
    file.write_bytes(np.random.default_rng(0).bytes(5000))
    return file


@given(
    st.lists(st.integers(0, 5000).flatmap(
        lambda begin: st.tuples(st.just(begin), st.integers(0, 5000 - begin))
    ), max_size=5),
    st.integers(1, 2000), st.integers(1, 3),
)  # fmt: skip
@settings(deadline=None, max_examples=50)
def test_ranges_arrive(path, ranges, piece, buffers):
    is_done, arrived = copy(path, ranges, piece, Device(), buffers)
    content = path.read_bytes()
    assert is_done
    for (begin, size), target in zip(ranges, arrived, strict=True):
        assert target.tobytes() == content[begin : begin + size]


@pytest.mark.parametrize("failing", ["copy", "record", "wait"])
def test_a_call_fails(path, failing):
    assert not copy(path, [(0, 5000)], 100, Device(failing))[0]


def test_a_file_ends_too_early(path):
    assert copy(path, [(4000, 1000)], 300, Device())[0]
    assert not copy(path, [(4000, 1001)], 300, Device())[0]


def test_cancelled(path):
    class Slow(Device):
        def copy(self, *arguments):
            begun.set()
            while not cancellation.cancel_flag()[0]:
                time.sleep(0.01)
            return super().copy(*arguments)

    begun, device = threading.Event(), Slow()
    with cancellation.cancelled_when(begun.is_set), pytest.raises(cancellation.Cancelled):
        copy(path, [(0, 5000)], 100, device)
    assert [len(copies) for copies in device.recorded.values()] == [1]
