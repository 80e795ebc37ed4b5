"""Stands in for a GPU in tests of host code: launches go to the emulator, CuPy is NumPy."""

import contextlib
import ctypes
import sys
import types

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.cuda.source import Source
from tests import emulator


class DeviceArray(np.ndarray):
    """A host array with what CuPy's arrays have besides."""

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.__array_interface__["data"][0])

    def get(self, stream=None):
        return np.array(self)

    def set(self, values, stream=None):
        self[...] = values


def on_device(array):
    return None if array is None else np.ascontiguousarray(array).view(DeviceArray)


def graph_on_device(graph):
    arrays = map(on_device, (graph.indptr, graph.indices, graph.weights))
    return type(graph).unchecked(*arrays, graph.directed, **graph.known)


def _zeros(shape, dtype=float):
    return emulator.aligned(shape, dtype).view(DeviceArray)


def _empty(shape, dtype=float):
    return emulator.poisoned(shape, dtype).view(DeviceArray)


def _cupy():
    module = emulator.numpy_as_cupy()
    module.zeros, module.empty = _zeros, _empty
    module.full = lambda shape, value, dtype: np.full(shape, value, dtype).view(DeviceArray)
    module.asarray = lambda *array: np.array(*array).view(DeviceArray)
    stream = types.SimpleNamespace(ptr=0, synchronize=lambda: None)
    module.cuda = types.SimpleNamespace(
        get_current_stream=lambda: stream,
        runtime=types.SimpleNamespace(
            getDevice=lambda: 0,
            memsetAsync=lambda address, value, size, stream: ctypes.memset(address, value, size),
            memcpyAsync=lambda to, source, size, way, stream: ctypes.memmove(to, source, size),
        ),
    )
    return module


class Device:
    """Runs the launches of host code. threads: of a block, at most. seed: of the next launch."""

    def __init__(self, threads, blocks=2, seed=1):
        self.threads, self.blocks, self.seed = threads, blocks, seed

    def kernel(self, source, name, **defines):
        def launch(grid, block, arguments, shared_mem=0, enable_cooperative_groups=False):
            self.seed += 1
            texts = {key: str(value) for key, value in defines.items()}
            threads = min(block[0], self.threads)
            emulator.launch(
                source, name, texts, grid[0], threads, arguments, shared=shared_mem, seed=self.seed
            )

        launch.kernel = launch  # of CuPy's RawKernel: the function that launches cooperatively
        launch.max_threads_per_block = self.threads
        return launch

    @contextlib.contextmanager
    def patched(self, monkeypatch, *modules):
        """While it lasts, these modules of host code use the emulator."""

        def kernel(source, name, **defines):
            return self.kernel(source, name, **defines)

        def launch(source, name, arguments, **defines):
            self.kernel(source, name, **defines)((self.blocks,), (self.threads,), arguments)

        known = {
            "multiprocessors": lambda: self.blocks,
            "threads_per_multiprocessor": lambda: 1024,
            "resident_blocks": lambda *arguments: self.blocks,
            "free_bytes": lambda: 1 << 30,
        }
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "cupy", _cupy())
            patch.setattr(Source, "kernel", kernel)
            patch.setattr(Source, "launch", launch)
            for module in (*modules, primitives_gpu):
                for name in known.keys() & vars(module).keys():
                    patch.setattr(module, name, known[name])
            yield self
