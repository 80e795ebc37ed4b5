"""The machine code of kernels: compiled by NVRTC, kept in files, shipped in wheels.

A kernel's code is looked up in two folders: ``cubin`` beside this file, which a wheel carries if it
was built after ``python -m mgraph.cuda.check --write``, and the user's caches. What is in neither
is compiled and kept in the latter. ``mgraph warm-up`` compiles everything beforehand, for
installations from source and for images that are built on machines without a GPU.

A file is named for a hash of all that the code depends on: the source with its macros, the headers
of ours that it includes, and the compiler's options. So an edited kernel is compiled again, and
several versions may share a folder. A device runs code for its own major version and for at most
its own minor version.

Measured (NVRTC 12.9, sm_90, 138 variants): 220 s of one core, 12.9 MB, 3.5 MB in a wheel. PTX
for other architectures is left out: the driver would still take three quarters of the time.
"""

import atexit
import functools
import hashlib
import importlib.util
import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mgraph import compilation

if TYPE_CHECKING:
    from mgraph.cuda.source import Source

PACKAGED = Path(__file__).parent / "cubin"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")  # of wheels
_importing = threading.RLock()


def user_folder() -> Path:
    """Return the folder of machine code among the user's caches; it may not exist."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches) / "mgraph" / "cuda"


def file_name(source: "Source", defines: dict[str, str]) -> str:
    """Return the name of the file with the code of a source with these macros."""
    digest = hashlib.sha256(source.text(defines).encode())
    digest.update(repr(source.options()).encode())
    return f"{Path(source.file).stem}-{digest.hexdigest()[:24]}.cubin"


def find(source: "Source", defines: dict[str, str], capability: str) -> Path | None:
    """Return the file with a source's code for a device, or None.

    capability: the device's, as CuPy writes it: ``"90"``.
    """
    major, minor = int(capability[:-1]), int(capability[-1])
    name = file_name(source, defines)
    for folder in (PACKAGED, user_folder()):
        for lower in range(minor, -1, -1):
            path = folder / f"sm_{major}{lower}" / name
            if path.is_file():
                return path
    return None


def compile_and_keep(source: "Source", defines: dict[str, str], capability: str) -> Path:
    """Compile a source for a device; return the file, in the user's caches if they are writable."""
    arch = f"sm_{capability}"
    with compilation.COMPILING.span():
        code = compile_source(source, defines, arch)
    name = file_name(source, defines)
    try:
        return write(user_folder(), arch, name, code)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="mgraph-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return write(folder, arch, name, code)


def write(folder: Path, arch: str, name: str, code: bytes) -> Path:
    """Write machine code into a folder, atomically; a file that exists is replaced."""
    path = folder / arch / name
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(code)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def can_compile(capability: str | None = None) -> bool:
    """Return whether NVRTC can be called through cuda-core, for a device if one is given.

    Where it cannot, CuPy compiles: it may lack cuda-core, or the device may be newer than NVRTC.
    """
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.core") is None:
        return False
    if capability is None:
        return True
    _, supported = _import_cuda("cuda.bindings.nvrtc").nvrtcGetSupportedArchs()
    return int(capability) in supported


@functools.cache
def _import_cuda(name: str) -> Any:
    """Import one of NVIDIA's modules; of two threads that do so, one finds it half imported."""
    with _importing:
        return importlib.import_module(name)


def architectures_here() -> list[str]:
    """Return the architectures of this machine's GPUs, such as ``sm_90``; none without CuPy."""
    if importlib.util.find_spec("cupy") is None:
        return []
    import cupy

    try:
        devices = range(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver, or no device
        return []
    return [f"sm_{cupy.cuda.Device(device).compute_capability}" for device in devices]


def include_paths(source: "Source") -> list[str]:
    """Return the folders of our headers, CCCL's (CuPy's copy, if it is installed), and CUDA's."""
    pathfinder = _import_cuda("cuda.pathfinder")
    paths = [str(path) for path in source.include_paths()]
    cupy = importlib.util.find_spec("cupy")
    if cupy is not None and cupy.submodule_search_locations:
        bundled = Path(cupy.submodule_search_locations[0]) / "_core/include/cupy/_cccl"
        paths += [str(bundled / part) for part in ("libcudacxx", "cub", "thrust")]
    nvidia = importlib.util.find_spec("nvidia")
    for root in nvidia.submodule_search_locations or [] if nvidia else []:
        paths += [str(path) for path in sorted(Path(root).glob("*/include"))]
        paths += [str(path) for path in sorted(Path(root).glob("*/include/cccl"))]
    paths += filter(None, map(pathfinder.find_nvidia_header_directory, ("cudart", "cccl")))
    return list(dict.fromkeys(paths))


def compile_source(
    source: "Source", defines: dict[str, str], arch: str, *, quick: bool = False
) -> bytes:
    """Compile a source with NVRTC for an architecture, such as ``sm_90``; return the cubin.

    quick: without optimisation. Raises what cuda-core raises if the source is wrong.
    """
    core = _import_cuda("cuda.core")
    options = core.ProgramOptions(
        std="c++17",
        arch=arch,
        include_path=include_paths(source),
        debug=quick,  # which turns the optimisation off
    )
    return bytes(core.Program(source.text(defines), "c++", options).compile("cubin").code)
