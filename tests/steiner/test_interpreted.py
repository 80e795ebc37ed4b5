"""Trees are the same whether functions are compiled or, on small graphs, interpreted."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core import heap_cpu
from tests.core.interpreted import functions, interpreting
from tests.steiner import strategies

DTYPES = (np.int32, np.int64, np.float32, np.float64)


def both_ways(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overflow in the interpreter is one
        with interpreting(True):
            interpreted = call()
    with interpreting(False):
        compiled = call()
    return interpreted, compiled


def contents(tree):
    arrays = (tree.src, tree.dst, tree.weight)
    return [array.tolist() for array in arrays], tree.cost, tree.lower_bound


@pytest.mark.parametrize("method", ["star", "mehlhorn", "takahashi_matsuyama"])
@given(data=st.data())
@settings(max_examples=25)
def test_trees(method, data):
    graph, terminals = data.draw(strategies.problems(max_vertices=14, dtypes=DTYPES))

    def solve():
        return contents(mgraph.steiner_tree(graph, terminals, method=method, backend="cpu"))

    interpreted, compiled = both_ways(solve)
    assert interpreted == compiled


@given(data=st.data())
@settings(max_examples=25)
def test_improved_trees(data):
    graph, terminals = data.draw(strategies.problems(max_vertices=14, dtypes=DTYPES))

    def solve():
        return contents(mgraph.steiner_tree(graph, terminals, improve=True, backend="cpu"))

    interpreted, compiled = both_ways(solve)
    assert interpreted == compiled


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tree_that_takes_rounds(dtype):
    """Its graph is so large that all local searches and bounds are needed."""
    grid = np.arange(144, dtype=np.int32).reshape(12, 12)
    src = np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()])
    dst = np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()])
    weight = np.random.default_rng(5).integers(1, 9, src.size).astype(dtype)
    edges, terminals = mgraph.EdgeList(src, dst, weight), [0, 11, 50, 77, 93, 132, 143]

    def solve():
        graph = mgraph.from_edges(edges, 144, directed=False, backend="cpu")
        return contents(mgraph.steiner_tree(graph, terminals, improve=True, backend="cpu"))

    interpreted, compiled = both_ways(solve)
    assert interpreted == compiled


def test_functions_are_found():
    """Otherwise the tests above would compare nothing."""
    names = " ".join(functions())
    for module in ("tree_cpu", "mehlhorn_cpu", "key_moves_cpu", "dual_ascent_cpu", "csr_cpu"):
        assert f"{module}." in names


@pytest.mark.parametrize("small", [True, False])
def test_heaps(small):
    def sort():
        random, heap, popped = np.random.default_rng(3), heap_cpu.new(100, small=small), []
        for size in range(400):
            heap_cpu.push(heap, size, np.int64(random.integers(50)), np.uint64(random.integers(99)))
        heap = heap_cpu.grow(heap)
        for size in range(400, 0, -1):
            key, vertex = heap_cpu.pop(heap, size)
            popped.append((int(key), int(vertex)))
        return popped

    interpreted, compiled = both_ways(sort)
    assert interpreted == compiled
    assert [key for key, _ in interpreted] == sorted(key for key, _ in interpreted)
