"""STAR's GPU code without a GPU: its kernels in the emulator, NumPy in CuPy's place."""

import sys
import types

import numpy as np
import pytest

from mgraph.core import cancellation_gpu
from mgraph.cuda import mailbox
from mgraph.cuda.source import Source
from mgraph.shortest_paths import bfs_gpu, frontier_gpu
from mgraph.steiner import (
    star_frontier_gpu,
    star_gpu,
    star_initial_tree_gpu,
    star_memory_gpu,
    star_rows_gpu,
)
from tests import emulator
from tests.emulator.device import DeviceArray
from tests.emulator.primitives import use_numpy

PROCESSORS = 4


class HostArray(DeviceArray):
    """An array that is copied to the host and back, as CuPy's."""


def zeros(shape, dtype=float):
    """An array where a device's would be."""
    return emulator.aligned(shape, dtype).view(HostArray)


def empty(shape, dtype=float):
    """As ``zeros``, but poisoned."""
    return emulator.poisoned(shape, dtype).view(HostArray)


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass


class Mailbox:
    """Host memory in place of both memories."""

    def lay_out(self, *parts):
        self.arrays = [emulator.poisoned(count, dtype) for count, dtype in parts]
        return self.arrays

    def address(self, part):
        return np.uint64(self.arrays[part].ctypes.data)

    def send(self, parts):
        pass

    def fetch(self, first, stop):
        pass


def _cupy():
    module = emulator.numpy_as_cupy()
    module.zeros, module.empty = zeros, empty
    module.full = lambda shape, value, dtype: np.full(shape, value, dtype).view(HostArray)
    module.argsort = lambda array: np.argsort(array, kind="stable")
    module.cuda = types.SimpleNamespace(
        Event=Event,
        Stream=lambda non_blocking: None,
        get_elapsed_time=lambda begun, done: 0.0,
    )
    return module


class Host:
    """A stand-in for the device while it is patched in. seed: that of the next launch."""

    def __init__(self, threads=32, seed=1):
        self.threads, self.seed, self.launched = threads, seed, []

    def kernel(self, source, name, **defines):
        def launch(grid, block, arguments, shared=0, enable_cooperative_groups=False):
            self.seed += 1
            self.launched.append(name)
            texts = {key: str(value) for key, value in defines.items()}
            threads = min(block[0], self.threads)
            emulator.launch(source, name, texts, grid[0], threads, arguments, seed=self.seed)

        launch.kernel = launch  # of CuPy's RawKernel: the function that launches cooperatively
        return launch

    def patch(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", _cupy())
        use_numpy(monkeypatch)
        monkeypatch.setattr(
            Source, "kernel", lambda source, name, **defines: self.kernel(source, name, **defines)
        )
        monkeypatch.setattr(
            Source,
            "launch",
            lambda source, name, arguments, **defines: self.kernel(source, name, **defines)(
                (2,), (self.threads,), arguments
            ),
        )
        monkeypatch.setattr(
            cancellation_gpu,
            "kernel",
            lambda source, name, **defines: self.kernel(source, name, **defines),
        )
        monkeypatch.setattr(cancellation_gpu, "finish", lambda: None)
        for module in (star_gpu, star_initial_tree_gpu, mailbox):
            monkeypatch.setattr(module, "Mailbox", Mailbox)
        for module in (star_memory_gpu, star_initial_tree_gpu):
            monkeypatch.setattr(module, "free_bytes", lambda: 1 << 24)
        for module in (star_memory_gpu, star_initial_tree_gpu, frontier_gpu, bfs_gpu):
            monkeypatch.setattr(module, "multiprocessors", lambda: PROCESSORS)
        monkeypatch.setattr(star_memory_gpu, "_MAX_PIECES", 1 << 10)
        monkeypatch.setattr(star_rows_gpu, "copy", lambda array: array.copy())


def on_host(graph):
    """Return the graph with its arrays as a device's."""
    arrays = (None if a is None else a.view(HostArray) for a in (graph.indptr, graph.indices))
    indptr, indices = arrays
    weights = None if graph.weights is None else graph.weights.view(HostArray)
    return type(graph).unchecked(indptr, indices, weights, graph.directed, **graph.known)


def searchers(graph, csr, kind, shape=None):
    """Return functions that make STAR's searches on a GPU, by name."""
    on_device = on_host(graph)
    return {
        "auto": lambda: star_gpu.Searcher(on_device, shape),
        "node": lambda: star_frontier_gpu.new_search(on_device, csr, kind, by_arc=False),
        "edge": lambda: star_frontier_gpu.new_search(on_device, csr, kind, by_arc=True),
    }


@pytest.fixture(scope="module")
def host():
    """A host whose memory stands in for the device's, for the tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        host = Host()
        host.patch(patch)
        yield host
