"""What is compiled for another function's sake has no machine code, and works as if it had."""

import threading

import numba
import numpy as np
import pytest

from mgraph.core import nested_compilation
from mgraph.core.compiled import compiled
from mgraph.core.nested_compilation import NEEDS


def has_machine_code(dispatcher):
    (types,) = dispatcher.overloads
    return nested_compilation.has_machine_code(dispatcher, types)


@pytest.fixture(autouse=True)
def nothing_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))


def functions():
    """Fresh functions, of which the second calls the first."""

    @compiled
    def inner(values, scale):
        if scale < 0:
            raise ValueError("scales are not negative")
        return np.cumsum(values)[-1] * scale

    @compiled
    def outer(values, scale):
        return inner(values, scale) + np.sort(values)[0]

    return inner, outer


def test_the_installed_release_has_what_is_replaced():
    missing = [(owner, name) for owner, names in NEEDS.items() for name in names
               if not hasattr(owner, name)]  # fmt: skip
    assert missing == []
    assert nested_compilation._is_possible


def test_only_what_python_calls_has_machine_code(tmp_path):
    inner, outer = functions()
    assert outer(np.arange(5), 2) == 20
    assert has_machine_code(outer)
    assert not has_machine_code(inner)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1
    assert inner(np.arange(5), 3) == 30
    assert has_machine_code(inner)
    assert len(list(tmp_path.rglob("*.nbc"))) == 2
    assert outer(np.arange(5), 2) == 20


def test_errors_reach_python_from_both(tmp_path):
    inner, outer = functions()
    for _ in range(2):
        for function in (outer, inner):
            with pytest.raises(ValueError, match="scales are not negative"):
                function(np.arange(5), -1)


def test_a_function_that_was_called_before():
    inner, outer = functions()
    assert inner(np.arange(5), 3) == 30
    assert outer(np.arange(5), 2) == 20
    assert has_machine_code(inner)


def test_a_function_from_disk_within_one_that_is_compiled():
    inner, _ = functions()
    assert inner(np.arange(5), 3) == 30  # whose machine code is kept
    again, outer = functions()
    assert outer(np.arange(5), 2) == 20
    assert sum(again.stats.cache_hits.values()) == 1
    with pytest.raises(ValueError, match="scales are not negative"):
        outer(np.arange(5), -1)
    assert again(np.arange(5), 3) == 30


def test_functions_that_call_themselves():
    @compiled
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @compiled
    def binomial(n, k):
        return factorial(n) // (factorial(k) * factorial(n - k))

    assert binomial(9, 4) == 126
    assert factorial(6) == 720


def test_functions_of_users_are_compiled_as_ever():
    inner, outer = functions()
    assert outer(np.arange(5), 2) == 20

    @numba.njit
    def of_a_user(n):
        return np.sort(np.empty(n, np.int64)).size + inner(np.arange(n), 2)

    @numba.njit
    def around(n):
        return of_a_user(n)

    assert around(5) == 25
    assert of_a_user(5) == 25
    with pytest.raises(ValueError, match="negative dimensions"):
        of_a_user(-1)


def test_a_function_of_a_user_comes_first():
    inner, outer = functions()

    @numba.njit
    def of_a_user(values):
        return outer(values, 2)

    assert of_a_user(np.arange(5)) == 20
    assert outer(np.arange(5), 2) == 20
    assert inner(np.arange(5), 2) == 20


def test_threads_compile_together():
    results, pairs = [], [functions() for _ in range(6)]

    def call(which):
        inner, outer = pairs[which // 2]
        results.append((inner if which % 2 else outer)(np.arange(5), 2))

    threads = [threading.Thread(target=call, args=(which,)) for which in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [20] * 12


def test_without_what_is_replaced_numba_is_left_as_it_is(monkeypatch):
    monkeypatch.setattr(nested_compilation, "_is_possible", False)
    inner, outer = functions()
    assert outer(np.arange(5), 2) == 20
    assert has_machine_code(inner)
