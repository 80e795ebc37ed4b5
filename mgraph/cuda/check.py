"""Compile every kernel for several architectures, without a GPU: ``python -m mgraph.cuda.check``.

Needs the extra ``check`` of this project (NVRTC and the CUDA headers as wheels, 0.6 GB). If CuPy is
installed, its own CCCL headers are used. With ``--write`` the machine code is kept in the package,
so that a wheel which is built afterwards has it.
"""

import argparse
import importlib
import multiprocessing
import pkgutil
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import mgraph
from mgraph.cuda import machine_code
from mgraph.cuda.source import Source
from mgraph.installation import install_command


def sources() -> Iterator[Source]:
    """Yield every ``Source`` that a ``*_gpu`` module of the package declares."""
    for module in pkgutil.walk_packages(mgraph.__path__, "mgraph."):
        if module.name.endswith("_gpu"):
            declared = vars(importlib.import_module(module.name)).values()
            yield from (value for value in declared if isinstance(value, Source))


class Job(NamedTuple):
    """One compilation: a source, its macros, and the architecture."""

    source: Source
    defines: dict[str, str]
    arch: str


def compile_all(
    jobs: Sequence[Job], *, quick: bool = False
) -> Iterator[tuple[Job, bytes | Exception]]:
    """Yield each job, in order, with its machine code or its error; all cores compile."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        attempts = [pool.submit(machine_code.compile_source, *job, quick=quick) for job in jobs]
        for job, attempt in zip(jobs, attempts, strict=True):
            error = attempt.exception()
            assert error is None or isinstance(error, Exception)
            yield job, error or attempt.result()


def main(argv: list[str] | None = None) -> int:
    """Compile all variants, print one line per variant; return 1 if one failed or none exists."""
    parser = argparse.ArgumentParser(prog="mgraph.cuda.check", description=__doc__)
    parser.add_argument("--arch", nargs="+", default=list(machine_code.ARCHITECTURES))
    parser.add_argument(
        "--quick", action="store_true", help="do not optimise, which takes five times as long"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep the machine code in the package, for a wheel"
    )
    options = parser.parse_args(argv)
    if options.quick and options.write:
        parser.error("--write keeps optimised code; leave --quick out")
    if not machine_code.can_compile():
        print(f"mgraph.cuda.check needs NVRTC: {install_command('check')}", file=sys.stderr)
        return 2
    jobs = [
        Job(source, dict(variant), arch)
        for source in sources()
        for variant in source.check
        for arch in options.arch
    ]
    if options.write:
        shutil.rmtree(machine_code.PACKAGED, ignore_errors=True)
    compiled = failed = 0
    for job, result in compile_all(jobs, quick=options.quick):
        name = (
            f"{job.source.file} {' '.join(f'{key}={value}' for key, value in job.defines.items())}"
        )
        if isinstance(result, Exception):
            failed += 1
            print(f"FAILED {job.arch} {name}\n{result}", file=sys.stderr)
            continue
        compiled += 1
        print(f"{job.arch:7s} {len(result):8d} bytes  {name}", flush=True)
        if options.write:
            file = machine_code.file_name(job.source, job.defines)
            machine_code.write(machine_code.PACKAGED, job.arch, file, result)
    print(f"{compiled} kernels compiled, {failed} failed")
    return 1 if failed or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
