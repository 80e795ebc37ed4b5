"""Compile every kernel for several architectures, without a GPU: ``python -m mgraph.cuda.check``.

Needs the extra ``check`` of this project (NVRTC and the CUDA headers as wheels, 0.6 GB). If CuPy is
installed, its own CCCL headers are used, since CuPy compiles against them.
"""

import argparse
import importlib
import importlib.util
import multiprocessing
import pkgutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import mgraph
from mgraph.cuda.source import Source
from mgraph.installation import install_command


def sources() -> Iterator[Source]:
    """Yield every ``Source`` that a ``*_gpu`` module of the package declares."""
    for module in pkgutil.walk_packages(mgraph.__path__, "mgraph."):
        if module.name.endswith("_gpu"):
            declared = vars(importlib.import_module(module.name)).values()
            yield from (value for value in declared if isinstance(value, Source))


def include_paths(source: Source) -> list[str]:
    """Return the folders of our headers, CCCL's (CuPy's copy, else the wheel's), and CUDA's."""
    paths = [str(path) for path in source.include_paths()]
    cupy = importlib.util.find_spec("cupy")
    if cupy is not None and cupy.submodule_search_locations:
        bundled = Path(cupy.submodule_search_locations[0]) / "_core/include/cupy/_cccl"
        paths += [str(bundled / part) for part in ("libcudacxx", "cub", "thrust")]
    nvidia = importlib.util.find_spec("nvidia")
    for root in nvidia.submodule_search_locations or [] if nvidia else []:
        paths += [str(path) for path in sorted(Path(root).glob("*/include"))]
        paths += [str(path) for path in sorted(Path(root).glob("*/include/cccl"))]
    return paths


def compile_source(
    source: Source, defines: dict[str, str], arch: str, *, quick: bool = False
) -> int:
    """Compile one variant with NVRTC and return the cubin's size in bytes; raise if it fails.

    quick: without optimisation.
    """
    from cuda.core import Program, ProgramOptions

    options = ProgramOptions(
        std="c++17",
        arch=arch,
        include_path=include_paths(source),
        define_macro=[("MGRAPH_DIGEST", "0")],
        debug=quick,  # which turns the optimisation off
    )
    return len(Program(source.text(defines), "c++", options).compile("cubin").code)


def main(argv: list[str] | None = None) -> int:
    """Compile all variants, print one line per variant; return 1 if one failed or none exists."""
    parser = argparse.ArgumentParser(prog="mgraph.cuda.check", description=__doc__)
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_90", "sm_100"])
    parser.add_argument(
        "--quick", action="store_true", help="do not optimise, which takes five times as long"
    )
    options = parser.parse_args(argv)
    if importlib.util.find_spec("cuda") is None:
        print(f"mgraph.cuda.check needs NVRTC: {install_command('check')}", file=sys.stderr)
        return 2
    jobs = [
        (source, dict(variant), arch)
        for source in sources()
        for variant in source.check
        for arch in options.arch
    ]
    compiled = failed = 0
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        attempts = [pool.submit(compile_source, *job, quick=options.quick) for job in jobs]
        for (source, defines, arch), attempt in zip(jobs, attempts, strict=True):
            name = f"{source.file} {' '.join(f'{key}={value}' for key, value in defines.items())}"
            try:
                size = attempt.result()
            except Exception as error:
                failed += 1
                print(f"FAILED {arch} {name}\n{error}", file=sys.stderr)
            else:
                compiled += 1
                print(f"{arch:7s} {size:8d} bytes  {name}", flush=True)
    print(f"{compiled} kernels compiled, {failed} failed")
    return 1 if failed or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
