"""Kernels on a CPU, for tests without a GPU: g++ compiles them against ``emulator.hpp``.

It finds mistakes of logic under many orders of events: threads that wait for each other, barriers
that not all reach, races between barriers. It says nothing of fences, of speed, or of NVRTC.
"""

import ctypes
import functools
import hashlib
import itertools
import math
import os
import re
import shutil
import subprocess
import tempfile
import types
from pathlib import Path

import numpy as np

from mgraph.cuda.source import headers

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mgraph-tests"
COMPILER = shutil.which("g++")
FLAGS = os.environ.get("EMULATOR_CXXFLAGS", "").split()  # further ones: CONTRIBUTING.md
ENDS = {1: "all threads wait for each other", 2: "threads go on for ever",
        3: "writes beyond its shared memory"}  # fmt: skip

_DYNAMIC = re.compile(r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];")
_STATIC = re.compile(r"__shared__ ((?:alignas\(\d+\) )?[\w<> ]+\*?) (\w[^;()]*);")
_KERNEL = re.compile(
    r'extern "C" __global__ void\s*(?:__launch_bounds__\([^)]*\))?\s*(\w+)\(([^)]*)\)'
)
_INCLUDE = re.compile(r'#include [<"]((?:mgraph/)?\w+\.cuh)[>"]')
_REREAD = re.compile(r"\*\(volatile (\w+)\*\)(\w+)")  # where a thread spins, others go on
_KINDS = str.maketrans("bu", "ii")
_ASSEMBLY = re.compile(r"asm volatile\(.*?\);", re.DOTALL)  # prefetching, fences


def _flat(text, known):
    """The text with our headers in place, those of the emulator before all others.

    known: the headers of the source by name.
    """

    def content(include):
        ours = HERE / "include" / include[1]
        header = ours if ours.exists() else known[include[1]]
        once = re.sub(r"\W", "_", include[1])  # it may stand in a part that is left out
        text = _flat(header.read_text().replace("#pragma once", ""), known)
        return f"#ifndef {once}\n#define {once}\n{text}\n#endif\n"

    return _INCLUDE.sub(content, text)


def _with_shared_memory(text):
    """Shared variables as those of the block that is running."""
    text = _DYNAMIC.sub(r"\1* const \2 = static_cast<\1*>(emulator::dynamic_shared());", text)
    count = itertools.count()

    def declarations(shared):
        for variable in shared[2].split(", "):
            name, bracket, rest = variable.partition("[")
            yield (
                f"using shared_{name} = {shared[1]}{bracket}{rest}; shared_{name}& {name} = "
                f"emulator::static_shared<shared_{name}>({next(count)});"
            )

    return _STATIC.sub(lambda shared: " ".join(declarations(shared)), text)


def _launcher(kernel):
    """A C function that launches a kernel; it takes the address of a struct passed by value."""
    name, parameters, passed = kernel[1], [], []
    for parameter in kernel[2].split(","):
        variable = re.search(r"(\w+)\s*$", parameter)[1]
        struct = re.search(r"__grid_constant__\s+const\s+(\w+)", parameter)
        parameters.append(f"const {struct[1]}* {variable}" if struct else parameter)
        passed.append(f"*{variable}" if struct else variable)
    return (
        f"LAUNCHER const void* types_{name}() {{ return emulator::types_of({name}); }}\n"
        f"LAUNCHER int launch_{name}(unsigned blocks_, unsigned threads_, size_t shared_, "
        f"uint64_t seed_, {', '.join(parameters)}) {{\n"
        f"  auto call = [=] {{ {name}({', '.join(passed)}); }};\n"
        "  return emulator::launch(blocks_, threads_, shared_, seed_, call);\n}\n"
    )


def prepare(source, defines):
    """Compile what ``launch`` with these macros needs: for launches that wait for each other."""
    _library(source, tuple(sorted(defines.items())))


@functools.cache
def _library(source, defines):
    text = source.text(dict(defines))
    text = _ASSEMBLY.sub(";", _flat(text, headers(text, source.folder)))
    text = _REREAD.sub(r"emulator::reread((\1*)\2)", text)
    return ctypes.CDLL(str(_compiled("-O1", "-shared", text, ".so", _program, _scheduler())))


def _program(text):
    """The text of kernels as a C++ program with functions that launch them."""
    compiled = _preprocessed(text)
    kernels = (kernel for kernel in _KERNEL.finditer(text) if f"{kernel[1]}(" in compiled)
    whole = '#include "emulator.hpp"\n' + _with_shared_memory(text)
    return whole + "".join(map(_launcher, kernels))


def _preprocessed(text):
    """The text without what ``#if`` leaves out; as it is where it includes other libraries."""
    command = [COMPILER, "-E", "-P", "-x", "c++", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    return text if done.returncode else done.stdout


@functools.cache
def _scheduler():
    """What all libraries have in common, as an object file."""
    return _compiled("-O2", "-c", (HERE / "emulator.cpp").read_text(), ".o", str)


@functools.cache
def _dependencies():
    """What every compiled file depends on, besides its own text."""
    version = subprocess.run([COMPILER, "--version"], check=True, capture_output=True).stdout
    return version, (HERE / "emulator.hpp").read_bytes(), Path(__file__).read_bytes()


def _compiled(level, kind, text, suffix, program, *objects):
    """What the compiler makes of ``program(text)``, from the user's cache if it was built before.

    The name in the cache is of the contents alone, so all worktrees share it.
    """
    parts = [text, level, kind, *FLAGS, *(built.name for built in objects)]
    key = b"\0".join([*(part.encode() for part in parts), *_dependencies()])
    library = CACHE / f"{hashlib.sha256(key).hexdigest()[:32]}{suffix}"
    if not library.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            source = Path(folder) / "kernel.cpp"
            source.write_text(program(text))
            made = source.with_suffix(suffix)
            options = ["-std=c++17", level, "-w", "-fPIC", "-fvisibility=hidden", kind, *FLAGS]
            subprocess.run(
                [COMPILER, *options, f"-I{HERE}", "-o", made, source, *objects],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            made.replace(library)  # whole, whoever else builds it
    return library


def _assert_types(library, name, arguments):
    """Check what nothing checks on a device, which reads 8 bytes of whatever is there.

    Of arrays only the size of elements: some kernels take floating-point numbers as integers.
    """
    types_of = getattr(library, f"types_{name}")
    types_of.restype = ctypes.POINTER(ctypes.c_char * 3)
    for place, (value, declared) in enumerate(zip(arguments, types_of(), strict=False)):
        kind, size, is_pointer = declared.raw
        is_array = isinstance(value, np.ndarray) and value.dtype.kind != "V"
        if not kind or (is_pointer and not is_array):
            continue  # a struct, or an address
        dtype = np.asarray(value).dtype
        given = chr(kind) if is_array else dtype.kind.translate(_KINDS)
        message = f"argument {place} of {name} is {dtype}, not of {size} bytes, kind {chr(kind)}"
        assert (is_array, given, dtype.itemsize) == (is_pointer, chr(kind), size), message


def _argument(value):
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    if isinstance(value, int):
        return ctypes.c_void_p(value)  # null
    if isinstance(value, float):
        return ctypes.c_double(value)
    return np.ctypeslib.as_ctypes_type(value.dtype)(value.item())


def aligned(shape, dtype=float):
    """Zeros that begin at a multiple of 32 bytes, as a device's arrays do."""
    count = shape if isinstance(shape, int) else math.prod(shape)
    raw = np.zeros(int(count) * np.dtype(dtype).itemsize + 32, np.uint8)
    begin = -raw.ctypes.data % 32
    return raw[begin : begin + raw.size - 32].view(dtype).reshape(shape)


def poisoned(shape, dtype=float):
    """As ``aligned``, but full of nonsense, as fresh memory may be: negative, no valid index."""
    array = aligned(shape, dtype)
    array.reshape(-1).view(np.uint8)[...] = 0xA5
    return array


def numpy_as_cupy():
    """A module that stands in for CuPy where arrays are the host's."""
    module = types.ModuleType("cupy")
    module.__getattr__ = functools.partial(getattr, np)
    module.zeros, module.empty = aligned, poisoned
    module.asnumpy = np.asarray
    return module


def launch(source, name, defines, blocks, threads, arguments, *, shared=0, seed=1):
    """Run a kernel of a ``Source``.

    arguments: NumPy arrays and scalars of the kernel's types, Python's floats, and 0 for null.
    """
    library = _library(source, tuple(sorted(defines.items())))
    _assert_types(library, name, arguments)
    ended = getattr(library, f"launch_{name}")(
        ctypes.c_uint(blocks), ctypes.c_uint(threads), ctypes.c_size_t(shared),
        ctypes.c_uint64(seed), *map(_argument, arguments),
    )  # fmt: skip
    assert not ended, f"{name}: {ENDS[ended]}, with seed {seed}"
