"""Compilation is measured apart from work, and the user is notified once."""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import mgraph
from mgraph import compilation
from mgraph.cli.main import main
from mgraph.compilation import Stopwatch
from mgraph.core import compiled
from mgraph.cuda import machine_code, source
from mgraph.cuda.source import Source
from mgraph.timings import Clock


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test moves: ``clock.now``."""
    found = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: found.now)
    return found


@pytest.fixture
def notices(monkeypatch):
    """One entry per notice to the user."""
    found = []
    monkeypatch.setattr(compilation, "_notify", None)
    compilation.set_notifier(lambda: found.append(True))
    return found


def test_time_counts_once_for_any_number_of_threads(clock):
    span = Clock()
    span.enter()
    clock.now = 2
    thread = threading.Thread(target=span.enter)  # a function that the first one calls, say
    thread.start()
    thread.join()
    clock.now = 5
    assert (span.is_running, span.seconds) == (True, 5)
    span.leave()
    clock.now = 6
    span.leave()
    clock.now = 100
    assert (span.is_running, span.seconds) == (False, 6)
    with contextlib.suppress(KeyError), span.span():
        clock.now = 101
        raise KeyError
    assert (span.is_running, span.seconds) == (False, 7)


def test_a_stopwatch_excludes_the_preparation_of_code(clock, notices):
    watch = Stopwatch()
    clock.now += 1
    with compilation.PREPARING.span():
        clock.now += 3
        with compilation.COMPILING.span():
            clock.now += 20
    clock.now += 4
    assert (watch.total, watch.work, watch.compiling) == (28, 5, 20)
    assert notices == [True]
    with compilation.COMPILING.span():
        pass
    assert notices == [True]


def function_of(folder, name):
    """A new function of a new module, as a package's would be."""
    (folder / f"{name}.py").write_text(
        "from mgraph.core.compiled import compiled\n\n"
        "@compiled\ndef inner(x):\n    return x + 1\n\n"
        "@compiled\ndef outer(x):\n    return inner(x) * 2\n"
    )
    code = (
        f"import {name}\nfrom mgraph import compilation\n"
        f"assert {name}.outer(20) == 42\n"
        "print(compilation.COMPILING.seconds > 0, compilation.PREPARING.seconds > 0)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )


def test_the_logger_notifies_only_when_a_compiler_runs(tmp_path):
    first, again = function_of(tmp_path, "some"), function_of(tmp_path, "some")
    assert (first.stdout, first.stderr) == ("True True\n", f"{compilation.NOTICE}\n")
    assert (again.stdout, again.stderr) == ("False True\n", "")


def cache_without(module, folder):
    """This machine's cache of machine code without that of one module."""
    folder.mkdir()
    for kept in compiled._folder(Path(compiled.__file__)).iterdir():
        if not kept.name.startswith(f"{module}-"):
            (folder / kept.name).symlink_to(kept)
    return folder


def test_a_command_notifies_once_and_reports_the_time_of_work_alone(tmp_path):
    model = mgraph.CopyModel(50_000, 3, 0.5, 1, weights=(1, 9))  # a smaller one is interpreted
    made = model.edges(backend="cpu").edges
    mgraph.write_graph(mgraph.from_edges(made, directed=False, backend="cpu"), tmp_path / "g")
    cache = cache_without("dijkstra_cpu", tmp_path / "cache")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    line = [sys.executable, "-m", "mgraph", "sssp", "g", "--source", "0", "--backend", "cpu"]

    def run(*more):
        return subprocess.run(
            [*line, *more], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    first, again = run(), run()
    assert first.returncode == again.returncode == 0, first.stderr
    assert first.stderr.count("compiling") == 1
    assert "mgraph: compiling for the first use" in first.stderr
    assert re.search(r" in all, of which [0-9.]+ m?s compiling\n", first.stdout)
    assert "compiling" not in again.stderr + again.stdout
    assert again.stdout.endswith(" in all\n")


@pytest.mark.parametrize(
    "verb", ["sssp", "steiner", "msf", "single-linkage", "knapsack", "generate"]
)
def test_a_quiet_command_does_not_notify(verb, notices, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([verb, "-q", "none"]) in (1, 2)
    assert compilation._notify is None


@pytest.fixture
def cupy_played(monkeypatch, tmp_path):
    """A CuPy that returns the content of the file of machine code and the kernel's name."""

    class RawModule:
        def __init__(self, path):
            self.code = Path(path).read_bytes()

        def get_function(self, name):
            return self.code, name

    cuda = types.ModuleType("cupy.cuda")
    cuda.runtime = types.SimpleNamespace(getDevice=lambda: 0)
    cuda.Device = lambda device: types.SimpleNamespace(compute_capability="90")
    cupy = types.ModuleType("cupy")
    cupy.cuda, cupy.RawModule = cuda, RawModule
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(machine_code, "can_compile", lambda capability: True)
    forget_modules(monkeypatch)


def forget_modules(monkeypatch):
    """What a new process does."""
    monkeypatch.setattr(source, "_prepared", set())
    monkeypatch.setattr(source, "_modules", {})
    source._capability.cache_clear()


def test_a_kernel_is_compiled_once_per_machine(monkeypatch, notices, cupy_played):
    compiled = []

    def compile_source(source, defines, arch):
        assert compilation.COMPILING.is_running
        assert compilation.PREPARING.is_running
        compiled.append((source.file, defines, arch))
        return f"{source.file} {defines}".encode()

    monkeypatch.setattr(machine_code, "compile_source", compile_source)
    kernels = Source("mgraph.core", "csr.cu")
    for value in (1, 1, 2):
        code = f"csr.cu {{'N': '{value}'}}".encode()
        assert kernels.kernel("csr_count", N=value) == (code, "csr_count")
    assert compiled == [("csr.cu", {"N": value}, "sm_90") for value in ("1", "2")]
    assert notices == [True]

    forget_modules(monkeypatch)
    assert kernels.kernel("csr_scatter", N=2) == (b"csr.cu {'N': '2'}", "csr_scatter")
    assert len(compiled) == 2

    # Another text, be it a header's, is other code.
    monkeypatch.setattr(Source, "digest", lambda self: "0123")
    forget_modules(monkeypatch)
    kernels.kernel("csr_count", N=1)
    assert len(compiled) == 3


def test_threads_that_need_the_same_kernel_compile_once(monkeypatch, notices, cupy_played):
    began, compiled = threading.Barrier(4), []

    def compile_source(source, defines, arch):
        compiled.append(defines)
        return b"code"

    monkeypatch.setattr(machine_code, "compile_source", compile_source)

    def use():
        began.wait()
        Source("mgraph.core", "csr.cu").kernel("csr_count", N=3)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled == [{"N": "3"}]


def test_shipped_machine_code_is_found_for_devices_that_can_run_it(
    monkeypatch, tmp_path, cupy_played
):
    kernels = Source("mgraph.core", "csr.cu")
    name = machine_code.file_name(kernels, {})
    monkeypatch.setattr(machine_code, "PACKAGED", tmp_path / "package")
    eighty = machine_code.write(machine_code.PACKAGED, "sm_80", name, b"80")
    users = machine_code.write(machine_code.user_folder(), "sm_86", name, b"86")
    assert machine_code.find(kernels, {}, "80") == eighty
    assert machine_code.find(kernels, {}, "86") == eighty
    assert machine_code.find(kernels, {}, "90") is None
    assert machine_code.find(kernels, {"N": "1"}, "80") is None
    eighty.unlink()
    assert machine_code.find(kernels, {}, "89") == users
    assert machine_code.find(kernels, {}, "80") is None


def test_machine_code_that_cannot_be_kept_is_used(monkeypatch, tmp_path, notices, cupy_played):
    (tmp_path / "caches").write_text("not a folder")
    monkeypatch.setattr(machine_code, "compile_source", lambda *_: b"code")
    assert Source("mgraph.core", "csr.cu").kernel("csr_count", N=4) == (b"code", "csr_count")


def test_workers_report_compilation_to_their_client(cluster):
    from mgraph.distributed.monitoring import counters
    from mgraph.distributed.protocol.work_time import WorkTime
    from tests.waiting import wait_until

    work = WorkTime(cluster.client)
    cluster.client.run(_compile_for, 0.3)
    began = time.perf_counter()
    work.begin_work(is_first=False)
    cluster.client.run(_compile_for, 0.2)
    work.end()
    assert work.compiling >= 0.5
    assert 0 < work.seconds <= time.perf_counter() - began - 0.2
    idle = WorkTime(cluster.client)
    idle.end()
    assert idle.compiling == 0
    cluster.client.run(_enter)
    try:
        wait_until(lambda: counters.read_progress(cluster.client, "any", ())[1])
    finally:
        cluster.client.run(_leave)
    wait_until(lambda: not counters.read_progress(cluster.client, "any", ())[1])


def _compile_for(seconds):
    import time

    with compilation.PREPARING.span(), compilation.COMPILING.span():
        time.sleep(seconds)


def _enter():
    compilation.COMPILING.enter()


def _leave():
    compilation.COMPILING.leave()


def test_start_up_time_is_not_work(cluster, tmp_path):
    made = mgraph.generate(tmp_path / "g", mgraph.CopyModel(400, 2), cluster=cluster, progress=None)
    assert 0 < made.work_seconds < made.seconds
    kept = mgraph.generate(
        tmp_path / "g", mgraph.CopyModel(400, 2), cluster=cluster, progress=None, resume=True
    )
    assert (kept.made_parts, kept.made_edges) == (0, 0)
    checked = mgraph.verify(tmp_path / "g", cluster=cluster, progress=None)
    assert 0 < checked.work_seconds < checked.seconds
    run = mgraph.sssp_many(tmp_path / "g", [0, 5], cluster=cluster, progress=None)
    assert 0 < run.search_seconds < run.seconds
    trees = mgraph.steiner_many(tmp_path / "g", [[0, 9]], cluster=cluster, progress=None)
    assert 0 < trees.solve_seconds < trees.seconds
    np.testing.assert_array_equal([search.source for search in run.searches], [0, 5])


def test_the_progress_line_shows_it():
    from mgraph.distributed.protocol.progress import Progress

    with Progress("load", 0, 1, None, note=lambda: f", {compilation.NOTICE}") as progress:
        assert progress.line() == f"load 0/1 part, {compilation.NOTICE}"
    with Progress("sssp", 10, 2, None, "arcs", note=lambda: ", x") as progress:
        assert progress.line().startswith("sssp   0%  0 of 10 arcs, 0/2 parts, ")
        assert progress.line().endswith(", starting, x")
