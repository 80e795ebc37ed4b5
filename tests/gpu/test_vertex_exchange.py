"""Large Steiner trees improved on a GPU: trees of key vertices, the best of two, the search."""

import numpy as np
import pytest

import mgraph
from mgraph.core.deadline import Deadline
from mgraph.steiner.improvement import blocks_cpu, improve, trees_cpu
from mgraph.steiner.prepared import prepare
from tests.gpu.test_steiner import random_graph
from tests.steiner import checks
from tests.steiner.improvement.problems import grid_problem

pytestmark = pytest.mark.gpu


def fine_problem(*arguments):
    """Return a grid with weights beside which what breaks ties is small."""
    problem = grid_problem(*arguments)
    problem.weight *= 1 << 20
    return problem


def exchange_of(problem, tree):
    from mgraph.steiner.improvement.vertex_exchange_gpu import VertexExchange

    return VertexExchange(problem.network, problem.weight, tree, problem.work)


def ids_of(in_tree):
    return np.flatnonzero(in_tree.get())


def distance_tree_cost(problem, vertices):
    """Return the cost of a minimum spanning tree of the distances between some vertices."""
    import networkx as nx

    graph = nx.Graph()
    edges = zip(problem.src.tolist(), problem.dst.tolist(), problem.weight.tolist(), strict=True)
    graph.add_weighted_edges_from(edges)
    distances = nx.Graph()
    for u in vertices:
        reached = nx.single_source_dijkstra_path_length(graph, u)
        distances.add_weighted_edges_from((u, v, reached[v]) for v in vertices if v != u)
    return sum(w for _, _, w in nx.minimum_spanning_tree(distances).edges(data="weight"))


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_of_some_vertices_costs_no_more_than_that_of_their_distances(seed):
    import cupy

    problem = fine_problem(20, 30, seed)
    added = np.random.default_rng(seed).integers(0, problem.n, 10)
    vertices = np.union1d(problem.terminals, added)
    is_source = np.zeros(problem.n, bool)
    is_source[vertices] = True
    exchange = exchange_of(problem, problem.grown())
    grown = exchange.grow(cupy.asarray(is_source))
    tree = ids_of(grown.in_tree)
    assert problem.check(tree) <= distance_tree_cost(problem, vertices)
    degree = np.bincount(problem.network.ends[tree].ravel(), minlength=problem.n)
    expected = (degree > 2) | problem.network.is_terminal
    assert np.array_equal(grown.is_key.get(), expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_two_trees_is_the_cpus(seed):
    import cupy

    problem = grid_problem(60, 300, seed)
    first, second = problem.grown(), problem.grown(problem.terminals[-1])
    noisy = problem.weight + np.random.default_rng(seed).integers(0, 30, problem.weight.size)
    second = trees_cpu.span(problem.network, noisy, np.union1d(first, second), problem.work)
    exchange = exchange_of(problem, first)
    in_tree = np.zeros(problem.weight.size, np.uint8)
    in_tree[second] = 1
    exchange.combine(exchange._prune(cupy.asarray(in_tree)))
    expected = blocks_cpu.combine(problem.network, problem.weight, first, second, problem.work)
    assert exchange.cost == problem.cost(exchange.tree) == problem.cost(expected)
    assert exchange.tree.tolist() == expected.tolist()
    problem.check_workspace()


def test_steps_never_make_a_tree_worse():
    problem = fine_problem(100, 1000, 1)
    exchange = exchange_of(problem, problem.grown())
    costs = [exchange.cost]
    for _ in range(40):
        exchange.step()
        costs.append(problem.check(exchange.tree))
        assert costs[-1] == exchange.cost
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.985 * costs[0]
    again = exchange_of(problem, problem.grown())
    for _ in range(40):
        again.step()
    assert again.tree.tolist() == exchange.tree.tolist()


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", None])
def test_large_trees_are_improved(dtype, monkeypatch):
    graph = random_graph(4000, 8000, dtype, 1)
    terminals = np.random.default_rng(2).choice(graph.n, 600, replace=False)
    used = []

    def exchange(*arguments):
        used.append(True)
        return original(*arguments)

    original = improve.exchange_vertices
    monkeypatch.setattr(improve, "exchange_vertices", exchange)
    tree = mgraph.steiner_tree(graph, terminals, backend="gpu", improve=True, time_limit=3)
    assert (used, tree.backend) == ([True], "gpu")
    edges = tree.src, tree.dst, tree.weight
    checks.check_tree(prepare(graph).csr, edges, tree.terminals)
    assert tree.lower_bound <= tree.cost < tree.initial_cost


def test_vertices_that_no_terminal_reaches_are_left_alone():
    """Half of the graph lies apart: a tree of vertices there would have no terminal."""
    first = random_graph(2000, 4000, "int32", 3)
    edges = first.to_edges()
    src, dst = (np.concatenate([ends, ends + 2000]) for ends in (edges.src, edges.dst))
    both = mgraph.EdgeList(src, dst, np.tile(edges.weight, 2))
    graph = mgraph.from_edges(both, directed=False, backend="cpu")
    terminals = np.random.default_rng(2).choice(2000, 600, replace=False)
    costs = []
    for problem in (first, graph):
        csr = prepare(problem).csr
        start = improve.cheap_trees(csr, np.sort(terminals))[0]
        tree = improve.exchange_vertices(csr, start, np.sort(terminals), Deadline(3))
        costs.append(checks.check_tree(csr, checks.edges_of(tree), terminals))
        assert costs[-1] <= checks.cost_of(start)
    assert costs[0] == pytest.approx(costs[1], rel=0.02)


def test_without_memory_the_cpu_improves(monkeypatch):
    from mgraph.steiner.improvement import vertex_exchange_gpu

    monkeypatch.setattr(vertex_exchange_gpu, "_MEMORY_SHARE", 0)
    graph = random_graph(2000, 4000, "int32", 1)
    terminals = np.random.default_rng(2).choice(graph.n, 600, replace=False)
    tree = mgraph.steiner_tree(graph, terminals, backend="gpu", improve=True, time_limit=2)
    assert tree.cost < tree.initial_cost
