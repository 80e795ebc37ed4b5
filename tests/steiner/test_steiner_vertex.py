from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.steiner import mehlhorn_cpu, steiner_vertex_cpu
from tests.steiner import oracles
from tests.steiner.checks import (
    check,
    cost_of,
    csr_of,
    edges_of,
    exact_cost_of,
    needs_steinlib,
    steinlib,
)
from tests.steiner.strategies import problems, trees


def exact_edges(tree):
    return [
        (u, v, Fraction(w))
        for u, v, w in zip(*(column.tolist() for column in edges_of(tree)), strict=True)
    ]


def some_vertex_gains(graph, tree, terminals):
    """Return whether the tree is cheaper with one more vertex, for every minimum spanning tree.

    Spanning trees that tie are pruned to different trees, and the code may take any of them.
    """
    members, limit = set(tree.vertex.tolist()), cost_of(tree) * (1 - 1e-8)
    for new in set(range(graph.n)) - members:
        added = [(u, v, w) for u, v, w in oracles.edges(graph) if new in (u, v)]
        added = [edge for edge in added if members & set(edge[:2])]
        spanning = oracles.all_spanning_edges(exact_edges(tree) + added)
        if added and all(
            oracles.cost(oracles.pruned(edges, terminals.tolist())) < limit for edges in spanning
        ):
            return True
    return False


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_pass_gains_if_any_vertex_does(data):
    graph, terminals = data.draw(problems())
    tree = data.draw(trees(graph, terminals))
    better = steiner_vertex_cpu.improve(csr_of(graph), tree)
    check(graph, better, terminals)
    if better is tree:
        assert not some_vertex_gains(graph, tree, terminals)
    else:
        assert exact_cost_of(better) < exact_cost_of(tree)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_repeated_passes_end_where_no_vertex_gains(data):
    graph, terminals = data.draw(problems())
    tree, better = None, data.draw(trees(graph, terminals))
    while better is not tree:
        tree, better = better, steiner_vertex_cpu.improve(csr_of(graph), better)
    check(graph, tree, terminals)
    assert not some_vertex_gains(graph, tree, terminals)


@needs_steinlib
def test_steinlib():
    before = after = 0
    for _, graph, terminals, optimum in steinlib("C"):
        tree = mehlhorn_cpu.build_tree(csr_of(graph), terminals)
        better = steiner_vertex_cpu.improve(csr_of(graph), tree)
        assert optimum <= check(graph, better, terminals) <= cost_of(tree)
        before += cost_of(tree) / optimum - 1
        after += cost_of(better) / optimum - 1
    assert after < 0.8 * before
