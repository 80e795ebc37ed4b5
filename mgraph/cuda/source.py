"""Kernel sources, and their kernels on devices through CuPy."""

import functools
import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mgraph import compilation
from mgraph.cuda import machine_code
from mgraph.cuda.declarations import Declarations, StructType
from mgraph.errors import DeviceError

INCLUDE = Path(str(resources.files("mgraph.cuda"))) / "include"
_INCLUDE = re.compile(r'#include (?:"(\w+\.cuh)"|<(mgraph/\w+\.cuh)>)')
C_TYPES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}
Loader = Callable[[], None]  # compiles code, or loads it from disk
_THREADS, _BLOCKS_PER_MULTIPROCESSOR = 256, 8
_modules: dict[Any, "_Module"] = {}
_prepared: set[Any] = set()  # the kernels that this process has used, by device


def multiprocessors() -> int:
    """Return the number of streaming multiprocessors of the current device."""
    import cupy

    return int(_device_attributes(cupy.cuda.runtime.getDevice())["MultiProcessorCount"])


def threads_per_multiprocessor() -> int:
    """Return how many threads may be resident on one multiprocessor of the current device."""
    import cupy

    return int(_device_attributes(cupy.cuda.runtime.getDevice())["MaxThreadsPerMultiProcessor"])


def max_shared_bytes() -> int:
    """Return the maximum shared memory of a block on the current device, as an opt-in, in bytes."""
    import cupy

    return int(_device_attributes(cupy.cuda.runtime.getDevice())["MaxSharedMemoryPerBlockOptin"])


def resident_blocks(
    kernel: Any, block_threads: int, shared: int, description: str, remedy: str
) -> int:
    """Return how many blocks of a kernel can be resident on the current device at a time.

    Only resident blocks may wait for each other. kernel: as ``Source.kernel`` returns it; from now
    on its blocks may have ``shared`` bytes of dynamic shared memory. description, remedy: for the
    DeviceError that is raised if not even one block fits a multiprocessor.
    """
    import cupy

    resident = 0
    if shared <= max_shared_bytes():
        kernel.max_dynamic_shared_size_bytes = shared
        resident = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            kernel.kernel.ptr, block_threads, shared
        )
    if not resident:
        raise DeviceError(
            f"a block of {block_threads} threads of {description} does not fit this GPU; {remedy}",
            remedy=remedy,
        )
    return int(resident) * multiprocessors()


def launch_resident(
    kernel: Any, blocks: int, block_threads: int, arguments: Sequence[Any], shared: int = 0
) -> None:
    """Launch a kernel whose blocks wait for each other: cooperatively, on the current stream.

    The device starts a cooperative launch only when all of its blocks fit at once, whatever other
    streams run; otherwise two such kernels could each hold a part of the device and wait for ever.
    kernel: as ``Source.kernel`` returns it. shared: bytes of dynamic shared memory per block.
    """
    kernel.kernel(
        (blocks,), (block_threads,), tuple(arguments), shared, enable_cooperative_groups=True
    )


@functools.cache
def _device_attributes(device: int) -> dict[str, int]:
    import cupy

    return dict(cupy.cuda.Device(device).attributes)  # which queries them all


@functools.cache
def _capability(device: int) -> str:
    """Return the compute capability of a device, such as ``"90"``."""
    import cupy

    return str(cupy.cuda.Device(device).compute_capability)


def headers(text: str, folder: Path) -> dict[str, Path]:
    """Return the project's headers that a source includes, directly or indirectly, by name.

    ``"name.cuh"`` lies beside the source, in ``folder``; ``<mgraph/name.cuh>`` is shared by several
    problems.
    """
    paths: dict[str, Path] = {}
    unread = [text]
    while unread:
        for local, shared in _INCLUDE.findall(unread.pop()):
            name = local or shared
            if name not in paths:
                paths[name] = folder / name if local else INCLUDE / name
                unread.append(paths[name].read_text())
    return paths


def inline_headers(text: str, folder: Path) -> str:
    """Return a source with its headers in place of their first ``#include``."""
    paths, included = headers(text, folder), set[str]()

    def content(include: re.Match[str]) -> str:
        name = include[1] or include[2]
        if name in included:
            return ""
        included.add(name)
        return _INCLUDE.sub(content, paths[name].read_text())

    return _INCLUDE.sub(content, text)


@functools.cache
def _declarations(
    source: "Source", defines: tuple[tuple[str, str], ...], types: tuple[tuple[str, str], ...]
) -> Declarations:
    text = inline_headers(source.text(dict(defines)), source.folder)
    return Declarations(text, dict(defines), dict(types))


@functools.cache
def header_declarations(name: str) -> Declarations:
    """Return the declarations of a shared header, ``mgraph/name.cuh``, that need no macros."""
    return Declarations((INCLUDE / name).read_text(), {})


def _module(source: "Source", defines: tuple[tuple[str, str], ...], capability: str) -> "_Module":
    """Return the one module of a source with these macros, for all threads."""
    key = source, defines, capability
    module = _modules.get(key)
    return module or _modules.setdefault(key, _Module(source, dict(defines), capability))


class _Module:
    """A source's machine code for a kind of device, found or compiled when it is first used."""

    def __init__(self, source: "Source", defines: dict[str, str], capability: str) -> None:
        self._request = source, defines, capability
        self._lock = threading.Lock()
        self._raw: Any = None

    def kernel(self, name: str) -> Any:
        """Return a kernel for the current device; one thread compiles, and others wait for it."""
        return self.prepare().get_function(name)

    def prepare(self) -> Any:
        """Return the code as CuPy's ``RawModule``."""
        with self._lock:
            if self._raw is None:
                self._raw = self._load(*self._request)
            return self._raw

    def _load(self, source: "Source", defines: dict[str, str], capability: str) -> Any:
        import cupy

        path = machine_code.find(source, defines, capability)
        if path is None and machine_code.can_compile(capability):
            path = machine_code.compile_and_keep(source, defines, capability)
        if path is not None:
            return cupy.RawModule(path=str(path))
        options = (*source.options(), *(f"-I{path}" for path in source.include_paths()))
        return cupy.RawModule(code=source.text(defines), options=options)


@dataclass(frozen=True)
class Source:
    """A ``.cu`` file of a package, and the defines under which ``mgraph.cuda.check`` compiles it.

    check: for each variant, the macros (name, value) that the host code would define.
    """

    package: str
    file: str
    check: tuple[tuple[tuple[str, str], ...], ...] = ((),)

    def __hash__(self) -> int:
        """Hash the file's name, since ``check`` is long and hashed for each launch otherwise."""
        return hash((self.package, self.file))

    def text(self, defines: dict[str, str]) -> str:
        """Return the source with these macros defined, ready for NVRTC."""
        lines = [f"#define {name} {value}\n" for name, value in sorted(defines.items())]
        return "".join(lines) + (self.folder / self.file).read_text()

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return Path(str(resources.files(self.package)))

    def include_paths(self) -> tuple[Path, Path]:
        """Return the folders of headers: the file's own, and that of the shared headers."""
        return self.folder, INCLUDE

    def digest(self) -> str:
        """Return a hash of the included headers, whose content CuPy's cache does not consider."""
        digest = hashlib.sha256()
        for _, path in sorted(headers(self.text({}), self.folder).items()):
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]

    def options(self) -> tuple[str, ...]:
        """Return compiler options: the language, and a digest that keys caches on headers."""
        return ("-std=c++17", f"-DMGRAPH_DIGEST=0x{self.digest()}ULL")

    def constant(self, name: str, **defines: object) -> int:
        """Return the value of a constant, an enumerator or a macro that the source declares."""
        return self._declared(defines, {}).constant(name)

    def struct(
        self, name: str, types: Mapping[str, str] | None = None, **defines: object
    ) -> StructType:
        """Return a struct that the source declares, for ``pack``.

        types: NumPy's names of types that the source defines by templates (``{"key_t": "i8"}``).
        """
        return self._declared(defines, types or {}).struct(name)

    def _declared(self, defines: Mapping[str, object], types: Mapping[str, str]) -> Declarations:
        pairs = tuple(sorted((key, str(value)) for key, value in defines.items()))
        return _declarations(self, pairs, tuple(sorted(types.items())))

    def kernel(self, name: str, **defines: object) -> Any:
        """Return a kernel for the current device (a ``cupy.RawKernel``), compiled once."""
        device, module = self._on_device(defines)
        if (device, module, name) in _prepared:
            return module.kernel(name)
        with compilation.PREPARING.span():
            kernel = module.kernel(name)
        _prepared.add((device, module, name))
        return kernel

    def loader(self, **defines: object) -> Loader:
        """Return a function that compiles or loads the source, as its first kernel would."""

        def load() -> None:
            _, module = self._on_device(defines)
            with compilation.PREPARING.span():
                module.prepare()

        return load

    def _on_device(self, defines: Mapping[str, object]) -> tuple[int, "_Module"]:
        """Return the current device, and the source's code for it."""
        import cupy

        pairs = tuple(sorted((key, str(value)) for key, value in defines.items()))
        device = cupy.cuda.runtime.getDevice()
        return device, _module(self, pairs, _capability(device))

    def launch(self, name: str, arguments: Sequence[Any], **defines: object) -> None:
        """Launch a kernel with a grid-stride loop, with enough threads to fill the device."""
        blocks = multiprocessors() * _BLOCKS_PER_MULTIPROCESSOR
        self.kernel(name, **defines)((blocks,), (_THREADS,), tuple(arguments))
