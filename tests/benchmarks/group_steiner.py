"""Group Steiner trees of random groups on graphs of a million edges: queries per second.

    python -m tests.benchmarks.group_steiner [GRAPH …] [--backend gpu] [--terminals]

GRAPH: attachment (preferential), random, grid. All weights are drawn from 1 to 100. --terminals: in
place of each group one vertex, for ``steiner_trees`` with ``improve=True``.
"""

import argparse
import time

import numpy as np

import mgraph

GRAPHS = ("attachment", "random", "grid")


def make(name, edges, backend):
    random = np.random.default_rng(1)
    if name == "attachment":
        model = mgraph.CopyModel(edges // 4, 4)
        listed = model.edges(backend="cpu").edges
        src, dst, n = listed.src, listed.dst, model.n
    elif name == "random":
        n = edges // 4
        src, dst = random.integers(0, n, (2, edges))
    else:
        side = int((edges / 2) ** 0.5)
        ids = np.arange(side * side).reshape(side, side)
        src = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
        dst = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
        n = side * side
    weight = random.integers(1, 101, src.size).astype(np.int32)
    listed = mgraph.EdgeList(src, dst, weight)
    graph = mgraph.from_edges(listed, n, directed=False, backend="cpu")
    return graph.to_gpu() if backend == "gpu" else graph


def solve(graph, queries, options, are_terminals):
    start = time.perf_counter()
    if are_terminals:
        terminals = [np.concatenate(query) for query in queries]
        trees = dict(mgraph.steiner_trees(graph, terminals, improve=True, **options))
    else:
        trees = dict(mgraph.group_steiner_trees(graph, queries, **options))
    return trees, time.perf_counter() - start


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", default=GRAPHS)
    parser.add_argument("--backend", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--edges", type=float, default=1e6)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--queries", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--terminals", action="store_true")
    options = parser.parse_args(arguments)
    size = 1 if options.terminals else options.size
    on_gpu = options.backend == "gpu"
    count = options.queries or (256 if on_gpu else 20)
    how = {"backend": options.backend} | ({} if on_gpu else {"concurrency": 1})
    for name in options.graphs:
        graph = make(name, int(options.edges), options.backend)
        random = np.random.default_rng(2)
        queries = [
            [random.integers(0, graph.n, size) for _ in range(options.groups)] for _ in range(count)
        ]
        solve(graph, queries[:2], how, options.terminals)
        seconds = []
        for _ in range(options.repeats):
            trees, elapsed = solve(graph, queries, how, options.terminals)
            seconds.append(elapsed)
        alone = [solve(graph, [query], how, options.terminals)[1] for query in queries[:10]]
        one = np.median(alone)
        optimal = sum(tree.optimal for tree in trees.values())
        print(
            f"{name}: {graph.n:,} vertices, {graph.num_edges:,} edges; {count} queries of "
            f"{options.groups} groups of {size} on the {options.backend}: "
            f"{count / np.median(seconds):,.1f} queries/s, one alone {1000 * one:,.1f} ms; "
            f"{optimal} optimal, cost {sum(tree.cost for tree in trees.values()):,}",
            flush=True,
        )


if __name__ == "__main__":
    main(None)
