"""Machine code on disk is compiled again when any of its sources changes."""

import importlib
import multiprocessing
import os
import sys
import threading

import numpy as np
import pytest
from numba import config

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from tests import stopped

FORKS = multiprocessing.get_context("forkserver")  # each import of Numba takes a second
FORKS.set_forkserver_preload([__name__])

CALLEE = """
from mgraph.core.compiled import compiled

@compiled
def base():
    return {base}
"""
CALLER = """
from mgraph.core.compiled import compiled
from made_up.callee import base
from made_up.plain import {names}

@compiled
def total():
    return base() + {number}
"""


def total(folder, base=1, number="NUMBER", value=10, **variables):
    """What a new process finds, and how many of its functions came from the disk."""
    package = folder / "made_up"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").touch()
    (package / "plain.py").write_text(f"NUMBER = {value}\nOTHER = 0\n")
    (package / "callee.py").write_text(CALLEE.format(base=base))
    (package / "caller.py").write_text(CALLER.format(names="NUMBER, OTHER", number=number))
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    here, there = FORKS.Pipe()
    process = FORKS.Process(target=_find, args=(str(folder), environment, there))
    process.start()
    there.close()
    found = here.recv()
    process.join()
    return found


def _find(folder, environment, found):
    """In a process that has imported Numba and compiled nothing."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    caller = importlib.import_module("made_up.caller")
    functions = caller.total, caller.base
    found.send((caller.total(), sum(len(one.stats.cache_hits) for one in functions)))


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_code_is_kept_until_a_source_changes(tmp_path, monkeypatch, variable):
    for other in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(other, raising=False)
    where = {variable: tmp_path / "cache"}
    assert total(tmp_path, **where) == (11, 0)
    assert total(tmp_path, **where) == (11, 1)
    assert list((tmp_path / "cache").rglob("*.nbc"))
    if variable != "XDG_CACHE_HOME":
        return  # the rest does not depend on where code is kept
    assert total(tmp_path, base=2, **where)[0] == 12
    assert total(tmp_path, base=2, value=20, **where)[0] == 22
    assert total(tmp_path, base=2, number="5", **where)[0] == 7
    assert total(tmp_path, **where) == (11, 1)
    assert total(tmp_path / "installed" / "again", **where) == (11, 1)


def test_code_that_cannot_be_kept_still_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "file").touch()
    assert total(tmp_path, XDG_CACHE_HOME=tmp_path / "file") == (11, 0)
    assert total(tmp_path, NUMBA_CACHE_DIR=tmp_path / "file" / "below") == (11, 0)


def test_cancelled_work_does_not_wait_for_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    release, over, code = threading.Event(), threading.Event(), "def add(a):\n    return a + 1\n"
    (tmp_path / "added.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    from added import add

    made = compiled(add)
    at_once = made._compiler.compile

    def slowly(*arguments):
        release.wait(60)
        found = at_once(*arguments)
        over.set()
        return found

    monkeypatch.setattr(made._compiler, "compile", slowly)
    assert stopped.seconds_to_stop(lambda: made(1)) < stopped.PATIENCE
    assert not over.is_set()
    release.set()
    assert over.wait(60)
    with cancellation.cancelled_when(lambda: False):
        assert made(1) == 2


def written(folder, monkeypatch, text):
    """The function ``add`` of a module with this text; the machine code lies in the folder."""
    name = f"added_{len(text)}_{folder.name}".replace("-", "_")
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder / "cache"))
    return importlib.import_module(name)


HOT = """
from mgraph.core.compiled import compiled, compiled_when_hot

@compiled_when_hot
def total(values, first=0):
    for value in values:
        first += value
    return first

@compiled
def twice(values):
    return 2 * total(values, 0)
"""


def test_small_arguments_are_interpreted_until_that_took_long(tmp_path, monkeypatch):
    total = written(tmp_path, monkeypatch, HOT).total
    assert total(np.arange(5)) == 10
    assert not total.overloads
    monkeypatch.setattr("mgraph.core.compiled.INTERPRETED_SECONDS", 0)
    assert total(np.arange(5), 1) == 11  # from now on it took too long
    assert not total.overloads
    assert total(np.arange(5), 1) == 11
    assert len(total.overloads) == 1


def test_large_arguments_are_not_interpreted(tmp_path, monkeypatch):
    total = written(tmp_path, monkeypatch, HOT).total
    monkeypatch.setattr("mgraph.core.compiled.INTERPRETED_ELEMENTS", 5)
    assert total(np.arange(4), 0) == 6
    assert not total.overloads
    assert total(np.arange(5), 0) == 10
    assert len(total.overloads) == 1
    assert total(np.ones(3), 0.0) == 3  # of other types, for which nothing is compiled
    assert len(total.overloads) == 1


def test_machine_code_on_disk_is_not_left_for_the_interpreter(tmp_path, monkeypatch):
    monkeypatch.setattr("mgraph.core.compiled.INTERPRETED_ELEMENTS", 0)
    module = written(tmp_path, monkeypatch, HOT)
    assert module.total(np.arange(5), 0) == 10
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, module.__name__)
    again = written(tmp_path, monkeypatch, HOT).total
    assert again is not module.total
    assert again(np.arange(5), 0) == 10
    assert sum(again.stats.cache_hits.values()) == 1


def test_the_caller_may_know_how_much_work_it_is(tmp_path, monkeypatch):
    total = written(tmp_path, monkeypatch, HOT).total
    monkeypatch.setattr("mgraph.core.compiled.INTERPRETED_ELEMENTS", 5)
    assert total.with_work(4, np.arange(9), 0) == 36
    assert not total.overloads
    assert total.with_work(5, np.arange(3), 0) == 3
    assert len(total.overloads) == 1


def test_interpreted_functions_return_what_compiled_ones_return(tmp_path, monkeypatch):
    """Python's numbers: NumPy's, of 64 bits, would go on to overflow in Python's code."""
    total = written(tmp_path, monkeypatch, HOT).total
    assert type(total(np.arange(5), np.int64(0))) is int
    assert type(total(np.ones(3), np.float64(0))) is float
    assert not total.overloads


def test_compiled_functions_call_compiled_ones(tmp_path, monkeypatch):
    module = written(tmp_path, monkeypatch, HOT)
    assert module.twice(np.arange(5)) == 20
    assert len(module.total.overloads) == 1


def test_two_processes_that_save_at_once_keep_their_own_code(monkeypatch, tmp_path):
    """For other types each; one saves when the other has looked what is there, and not yet saved.

    In this process, which knows no more of what is on the disk than another would.
    """
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    (tmp_path / "halved.py").write_text("def half(x):\n    return x / 2 if x > 2 else x\n")
    monkeypatch.syspath_prepend(tmp_path)
    from halved import half

    first, second, third = (compiled(half) for _ in range(3))
    write = first._cache._cache_file._open_for_write

    def write_later(path):
        if not second.signatures:
            second(np.float32(7))
        return write(path)

    monkeypatch.setattr(first._cache._cache_file, "_open_for_write", write_later)
    assert (first(7), second(np.float32(7))) == (3.5, 3.5)
    assert (third(9), third(np.float32(9)), third(np.float32(1))) == (4.5, 4.5, 1)
    assert len(third.stats.cache_hits) == 2
