"""Figures of a partitioned preferential-attachment graph on GPUs, which its workers make.

    python -m tests.benchmarks.partitioned_model_gpu N D GPUS

Its components, and hops from vertex 0, all of which are checked: ends of an arc are at most one hop
apart, and each vertex but the source has a neighbour that is one hop nearer.
"""

import argparse
import itertools

import numpy as np

import mgraph
from mgraph import ClusterSpec, CopyModel


def check_levels(exchange, memory, argument, *, name):
    """Check all hops of a breadth-first search; return how many vertices have one."""
    import cupy

    from mgraph.core.primitives_gpu import tails
    from mgraph.core.rows import row_pieces
    from mgraph.distributed.operations.partitioned_tasks import GRAPH
    from mgraph.shortest_paths.partitioned_predecessors import refresh_ghosts

    graph, hops = memory[GRAPH], memory[name][0]
    level = cupy.empty(graph.locals, np.int32)
    level[graph.own_range] = hops
    refresh_ghosts(exchange, graph, level)
    has_parent = cupy.zeros(graph.owned, bool)
    for first, stop, begin, end in row_pieces(graph.indptr, 1 << 27):
        rows = tails(graph.indptr[first : stop + 1], end - begin).view(np.uint32)
        own = hops[first:stop][rows]
        other = level[graph.heads[begin:end]]
        assert bool((abs(own - other) <= 1).all())
        has_parent[first:stop][rows[other < own]] = True
    is_source = hops == 0
    assert not bool((has_parent & is_source).any())
    assert bool((has_parent | is_source).all())
    return int(is_source.sum()), graph.owned


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for number in ("n", "d", "gpus"):
        parser.add_argument(number, type=int)
    options = parser.parse_args()
    n, d = options.n, options.d
    with mgraph.open_partitioned(
        CopyModel(n, d), cluster=ClusterSpec(workers=options.gpus), backend="gpu"
    ) as graph:
        for rank, facts in enumerate(graph.ranks):
            print(
                f"rank {rank}: {facts.owned:,} vertices, {facts.arcs:,} arcs, "
                f"{facts.ghosts:,} ghosts, {facts.bytes / 2**30:.1f} GiB, {facts.seconds:.1f} s",
                flush=True,
            )
        for _ in range(2):
            found = graph.connected_components()
            print(
                f"components: {found.num_components:,}, the largest {found.largest} of "
                f"{found.largest_size:,} vertices, {found.seconds:.2f} s",
                flush=True,
            )
            found.release()
        for predecessors in (False, False, True):
            paths = graph.sssp(0, predecessors=predecessors)
            print(
                f"hops: {paths.reached:,} vertices, at most {paths.max_distance}, "
                f"{paths.rounds} rounds, {paths.seconds:.2f} s"
                + (" with predecessors" if predecessors else ""),
                flush=True,
            )
            if not predecessors:
                checked = graph.run(check_levels, "check", name=paths.name)
                sources, vertices = map(sum, zip(*checked, strict=True))
                assert (sources, vertices) == (1, n), checked
                print(f"all {vertices:,} checked", flush=True)
            else:
                path = paths.path(n - 1)
                print(f"path to {n - 1}: {path.vertices.tolist()}", flush=True)
                check_path(CopyModel(n, d), path.vertices.tolist())
            paths.release()


def check_path(made, vertices):
    """Check that a path's edges are the model's."""
    for one, other in itertools.pairwise(vertices):
        edges = made.edges(range(max(one, other), max(one, other) + 1), backend="cpu").edges
        assert min(one, other) in edges.dst.tolist(), (one, other)


if __name__ == "__main__":
    main()
