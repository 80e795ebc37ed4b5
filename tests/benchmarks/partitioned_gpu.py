"""Figures of partitioned graphs on GPUs, one rank per GPU.

    python -m tests.benchmarks.partitioned_gpu rmat SCALE GPUS

Graph500's rules: R-MAT with 16 edges per vertex, weights in [0, 1), random sources with arcs,
and five checks of each tree; edges per second are those of the source's component, loops and
parallel ones included.
"""

import argparse
import statistics
import time

import numpy as np

from mgraph import ClusterSpec, EdgeList
from mgraph.distributed.clusters.connect import open_cluster
from mgraph.distributed.operations.ranks import ranks_of
from mgraph.partitioned import build
from mgraph.partitioned.edge_source import Request

EDGES_PER_VERTEX = 16
BLOCK_EDGES = 1 << 25

_DRAW = r"""
unsigned long long state = (unsigned long long)(first + i) * 16 + seed * 0x9E3779B97F4A7C15ULL;
auto draw = [&]() {
  unsigned long long x = state++ * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
};
unsigned long long u = 0, v = 0, bits = 0;
for (int level = 0; level < scale; ++level) {
  if (level % 4 == 0) bits = draw();
  const unsigned part = bits & 0xFFFF;
  bits >>= 16;
  u = 2 * u + (part >= 49807);                                  // 0.76
  v = 2 * v + ((part >= 37356 && part < 49807) || part >= 62259);  // 0.57, 0.95
}
const unsigned long long mask = (1ULL << scale) - 1;
auto scramble = [&](unsigned long long x) {
  x = (x * 0x9E3779B97F4A7C15ULL + 0x632BE59BD9B4E019ULL) & mask;
  x ^= x >> (scale / 2);
  x = (x * 0xD6E8FEB86659FD93ULL) & mask;
  return x ^ (x >> (scale / 2));
};
src = (T)scramble(u);
dst = (T)scramble(v);
weight = (float)(draw() >> 40) * 5.9604644775390625e-08f;
"""


class RmatEdges:
    """A rank's edges, drawn again whenever they are asked for."""

    def __init__(self, scale, rank, size, weighted):
        import cupy

        count = EDGES_PER_VERTEX << scale
        bounds = [count * r // size for r in (rank, rank + 1)]
        self._scale, self._first, self._weighted = scale, bounds[0], weighted
        total = bounds[1] - bounds[0]
        self.sizes = [min(BLOCK_EDGES, total - at) for at in range(0, total, BLOCK_EDGES)]
        self._draw = cupy.ElementwiseKernel(
            "int64 first, int32 scale, uint64 seed", "T src, T dst, float32 weight", _DRAW, "rmat"
        )

    def block(self, index):
        import cupy

        dtype = np.int32 if self._scale < 31 else np.int64
        src, dst = (cupy.empty(self.sizes[index], dtype) for _ in range(2))
        weight = cupy.empty(self.sizes[index], np.float32)
        first = self._first + index * BLOCK_EDGES
        self._draw(first, self._scale, np.uint64(7), src, dst, weight)
        return EdgeList(src, dst, weight if self._weighted else None)


def build_rmat(exchange, memory, argument, *, scale, weighted=True):
    import cupy

    began = time.perf_counter()
    memory.pop("graph", None)
    cupy.get_default_memory_pool().free_all_blocks()
    source = RmatEdges(scale, exchange.rank, exchange.size, weighted)
    request = Request(1 << scale, np.dtype(np.float32) if weighted else None, False, "gpu")
    graph = build.build(exchange, source, request)
    cupy.cuda.Device().synchronize()
    memory["graph"] = graph
    pool = cupy.get_default_memory_pool()
    peak = pool.total_bytes() / 2**30
    pool.free_all_blocks()
    rest = pool.used_bytes() / 2**30
    return (
        f"rank {exchange.rank}: {graph.heads.size:,} arcs, {graph.owned:,} vertices, "
        f"{graph.ghost_bounds[-1]:,} ghosts, {rest:.1f} GiB ({peak:.1f} at most), "
        f"{time.perf_counter() - began:.1f} s"
    )


def choose_sources(exchange, memory, argument, *, count):
    """Return random vertices with arcs, the same at all ranks."""
    graph, chosen = memory["graph"], []
    for vertex in np.random.default_rng(1).integers(0, graph.n, 100 * count).tolist():
        degree = 0
        if 0 <= vertex - graph.first < graph.owned:
            row = graph.indptr[vertex - graph.first : vertex - graph.first + 2].get()
            degree = int(row[1] - row[0])
        if exchange.all_reduce(degree)[0]:
            chosen.append(vertex)
        if len(chosen) == count:
            break
    return chosen


def search(exchange, memory, argument, *, source, delta, checks, predecessors=True):
    import cupy

    from mgraph.shortest_paths import partitioned_delta_stepping
    from mgraph.shortest_paths.partitioned_delta_stepping import Limits

    graph = memory["graph"]
    limits = Limits(np.empty(0, np.int64), False, np.finfo(np.float64).max)
    exchange.all_reduce(0)
    began = time.perf_counter()
    paths = partitioned_delta_stepping.search(
        exchange, graph, [source], limits, dtype=np.dtype(np.float64), delta=delta or None,
        predecessors=predecessors,
    )  # fmt: skip
    cupy.cuda.get_current_stream().synchronize()
    exchange.all_reduce(0)
    seconds = time.perf_counter() - began
    edges = component_edges(graph, paths)
    if checks:
        check_tree(exchange, graph, paths, source)
    return seconds, edges, paths.rounds


def search_levels(exchange, memory, argument, *, source):
    """Time a breadth-first search."""
    import cupy

    from mgraph.shortest_paths import partitioned_bfs
    from mgraph.shortest_paths.partitioned_delta_stepping import Limits

    graph = memory["graph"]
    limits = Limits(np.empty(0, np.int64), False, 2**31 - 2)
    exchange.all_reduce(0)
    began = time.perf_counter()
    paths = partitioned_bfs.search(exchange, graph, [source], limits, predecessors=True)
    cupy.cuda.get_current_stream().synchronize()
    exchange.all_reduce(0)
    seconds = time.perf_counter() - began
    degree = graph.indptr[1:] - graph.indptr[:-1]
    reached = paths.distance != np.iinfo(np.int32).max
    return seconds, int(degree[reached].sum()) / 2, paths.rounds


def label(exchange, memory, argument):
    """Time the components of the graph; return the seconds and the number of components."""
    import cupy

    from mgraph.components.partitioned_components import label_components

    graph = memory["graph"]
    exchange.all_reduce(0)
    began = time.perf_counter()
    found = label_components(exchange, graph)
    cupy.cuda.get_current_stream().synchronize()
    exchange.all_reduce(0)
    seconds = time.perf_counter() - began
    roots = (found.distinct >= graph.first) & (found.distinct < graph.first + graph.owned)
    return seconds, int(roots.sum())


def time_steps(exchange, memory, argument, *, source, delta):
    """Return the seconds of each step of a search, each waited for."""
    import collections

    import cupy

    from mgraph.shortest_paths import partitioned_delta_stepping_gpu as search_gpu
    from mgraph.shortest_paths import partitioned_predecessors_gpu as predecessors_gpu

    seconds = collections.Counter()
    restored = []
    for kind in (search_gpu.Search, predecessors_gpu.Proposals):
        for name in [name for name, value in vars(kind).items() if callable(value)]:
            if name.startswith("_") and name != "__init__":
                continue
            function = getattr(kind, name)

            def timed(*arguments, function=function, name=f"{kind.__name__}.{name}", **more):
                cupy.cuda.get_current_stream().synchronize()
                began = time.perf_counter()
                result = function(*arguments, **more)
                cupy.cuda.get_current_stream().synchronize()
                seconds[name] += time.perf_counter() - began
                return result

            restored.append((kind, name, function))
            setattr(kind, name, timed)
    total = search(exchange, memory, None, source=source, delta=delta, checks=False)[0]
    for kind, name, function in restored:
        setattr(kind, name, function)
    shown = ", ".join(f"{name} {1e3 * each:.1f}" for name, each in seconds.most_common(9))
    return f"rank {exchange.rank}, ms of {1e3 * total:.1f}: {shown}"


def component_edges(graph, paths):
    """Return half the arcs of the rank's reached vertices."""
    import cupy

    degree = graph.indptr[1:] - graph.indptr[:-1]
    return int(degree[cupy.isfinite(paths.distance)].sum()) / 2


def check_tree(exchange, graph, paths, source):
    """Graph500's rules: a tree of tight arcs from the source, and no arc that could shorten it."""
    import cupy

    from mgraph.core.primitives_gpu import tails
    from mgraph.shortest_paths.partitioned_predecessors import refresh_ghosts

    distance = cupy.empty(graph.locals, np.float64)
    distance[graph.own_range] = paths.distance
    refresh_ghosts(exchange, graph, distance)
    number = cupy.empty(graph.locals, np.int64)
    number[graph.own_range] = cupy.arange(graph.first, graph.first + graph.owned)
    for owner in range(graph.size):
        first, stop = graph.ghost_bounds[owner : owner + 2].tolist()
        number[graph.ghost_range(owner)] = graph.ghosts[first:stop] + graph.partition.bounds[owner]
    parent = paths.predecessor
    has_parent = cupy.zeros(graph.owned, bool)
    step = 1 << 20
    bounds = [*graph.indptr[::step].get().tolist(), graph.heads.size]
    for row in range(0, graph.owned, step):
        stop_row = min(row + step, graph.owned)
        first, stop = bounds[row // step], bounds[row // step + 1]
        if stop_row == graph.owned:
            stop = graph.heads.size
        own = tails(graph.indptr[row : stop_row + 1] - first, stop - first, row)
        head, weight = graph.heads[first:stop], graph.weights[first:stop].astype(np.float64)
        near, far = distance[head], paths.distance[own]
        assert bool((near <= far + weight).all())  # each arc has its mirror
        assert bool((cupy.isfinite(near) == cupy.isfinite(far)).all())
        is_tree_arc = (number[head] == parent[own]) & (near + weight == far)
        has_parent[own[is_tree_arc]] = True
    reached = cupy.isfinite(paths.distance)
    if 0 <= source - graph.first < graph.owned:
        assert int(parent[source - graph.first]) == -1
        assert float(paths.distance[source - graph.first]) == 0
        has_parent[source - graph.first] = True
    assert bool((has_parent == reached).all())
    assert bool((parent[~reached] == -1).all())


def rmat(options):
    with (
        open_cluster(ClusterSpec(workers=options.gpus), backend="gpu") as cluster,
        ranks_of(cluster) as ranks,
    ):
        nothing, sizes = [None] * ranks.size, [1] * ranks.size

        def run(program, **more):
            return ranks.run(program, nothing, verb="benchmark", sizes=sizes, **more)

        print(*run(build_rmat, scale=options.scale), sep="\n", flush=True)
        sources = run(choose_sources, count=options.searches)[0]
        run(label)
        found = run(label)
        print(
            f"components: {1e3 * max(each[0] for each in found):.1f} ms, "
            f"{sum(each[1] for each in found):,}",
            flush=True,
        )
        for delta in options.delta:
            run(search, source=sources[0], delta=delta, checks=False)
            bare = run(search, source=sources[0], delta=delta, checks=False, predecessors=False)
            print(*run(time_steps, source=sources[0], delta=delta), sep="\n", flush=True)
            rates, times = [], []
            for index, source in enumerate(sources):
                checks = index < options.checks
                found = run(search, source=source, delta=delta, checks=checks)
                seconds = max(each[0] for each in found)
                edges = sum(each[1] for each in found)
                times.append(seconds)
                rates.append(edges / seconds)
            print(
                f"rmat-{options.scale}, {ranks.size} GPUs, delta {delta}: "
                f"{statistics.harmonic_mean(rates) / 1e9:.2f}e9 edges/s, harmonic mean of "
                f"{len(rates)}; {statistics.median(times):.3f} s, {found[0][2]} rounds; "
                f"{max(each[0] for each in bare):.3f} s without predecessors; the trees "
                f"of {min(options.checks, len(sources))} checked; "
                f"ms: {' '.join(f'{1e3 * each:.0f}' for each in times)}",
                flush=True,
            )
        print(*run(build_rmat, scale=options.scale, weighted=False), sep="\n", flush=True)
        run(search_levels, source=sources[0])
        levels = [run(search_levels, source=source) for source in sources]
        seconds = [max(each[0] for each in found) for found in levels]
        rates = [
            sum(each[1] for each in found) / took
            for found, took in zip(levels, seconds, strict=True)
        ]
        print(
            f"rmat-{options.scale}, {ranks.size} GPUs: bfs "
            f"{statistics.harmonic_mean(rates) / 1e9:.2f}e9 edges/s, harmonic mean of "
            f"{len(rates)}; {1e3 * statistics.median(seconds):.1f} ms",
            flush=True,
        )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rmat"])
    parser.add_argument("scale", type=int)
    parser.add_argument("gpus", type=int)
    parser.add_argument("--searches", type=int, default=16)
    parser.add_argument("--checks", type=int, default=16)
    parser.add_argument("--delta", type=float, nargs="+", default=[0.0], help="0: adapts")
    options = parser.parse_args(arguments)
    {"rmat": rmat}[options.what](options)


if __name__ == "__main__":
    main()
