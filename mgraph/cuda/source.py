"""Kernel sources and their compilation through CuPy."""

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

INCLUDE = resources.files("mgraph.cuda") / "include"
C_TYPES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}
_THREADS, _BLOCKS_PER_MULTIPROCESSOR = 256, 8


def multiprocessors() -> int:
    """The number of streaming multiprocessors of the current device."""
    import cupy

    return int(_attributes_of(cupy.cuda.runtime.getDevice())["MultiProcessorCount"])


def threads_a_multiprocessor() -> int:
    """How many threads may be resident on a multiprocessor of the current device."""
    import cupy

    return int(_attributes_of(cupy.cuda.runtime.getDevice())["MaxThreadsPerMultiProcessor"])


def most_shared_bytes() -> int:
    """How much shared memory a block of the current device may have, if its kernel asks for it."""
    import cupy

    return int(_attributes_of(cupy.cuda.runtime.getDevice())["MaxSharedMemoryPerBlockOptin"])


@functools.cache
def _attributes_of(device: int) -> dict[str, int]:
    import cupy

    return dict(cupy.cuda.Device(device).attributes)  # asks for them all


@functools.cache
def include_digest() -> str:
    """A hash of our headers: CuPy's cache would not notice that one changed."""
    digest = hashlib.sha256()
    for header in sorted((INCLUDE / "mgraph").iterdir(), key=lambda path: path.name):
        digest.update(header.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _compiled(source: "Source", defines: tuple[tuple[str, str], ...]) -> Any:
    import cupy

    return cupy.RawModule(
        code=source.text(dict(defines)), options=(*source.options(), f"-I{INCLUDE}")
    )


@dataclass(frozen=True)
class Source:
    """A ``.cu`` file of a package, and the defines under which ``mgraph.cuda.check`` compiles it.

    check: for each variant, the macros (name, value) that the host code would define.
    """

    package: str
    file: str
    check: tuple[tuple[tuple[str, str], ...], ...] = ((),)

    def text(self, defines: dict[str, str]) -> str:
        """The source under these defines, ready for NVRTC."""
        lines = [f"#define {name} {value}\n" for name, value in sorted(defines.items())]
        return "".join(lines) + resources.files(self.package).joinpath(self.file).read_text()

    def options(self) -> tuple[str, ...]:
        """Compiler options: the language, and the digest that keys the cache on our headers."""
        return ("-std=c++17", f"-DMGRAPH_DIGEST=0x{include_digest()}ULL")

    def kernel(self, name: str, **defines: object) -> Any:
        """The kernel ``name`` on the current device (a ``cupy.RawKernel``), compiled once."""
        pairs = tuple(sorted((key, str(value)) for key, value in defines.items()))
        return _compiled(self, pairs).get_function(name)

    def launch(self, name: str, arguments: Sequence[Any], **defines: object) -> None:
        """Run a kernel that strides over its items, with threads enough to fill the device."""
        blocks = multiprocessors() * _BLOCKS_PER_MULTIPROCESSOR
        self.kernel(name, **defines)((blocks,), (_THREADS,), tuple(arguments))
