"""Figures of shortest paths on GPUs, for shortest_paths/BENCHMARKS.md.

    python -m tests.benchmarks.sssp_gpu single MAKER NAME …     self_tuning, and near_far's deltas
    python -m tests.benchmarks.sssp_gpu controller MAKER NAME …     the cost of the controller
    python -m tests.benchmarks.sssp_gpu set_points MAKER NAME …     X2 at smaller set-points
    python -m tests.benchmarks.sssp_gpu watched MAKER NAME …    the cost of being cancellable
    python -m tests.benchmarks.sssp_gpu methods MAKER NAME …    all methods, predecessors, groups
    python -m tests.benchmarks.sssp_gpu backends MAKER NAME …   the size from which a GPU is faster
    python -m tests.benchmarks.sssp_gpu build FOLDER            Parquet to CSR
    python -m tests.benchmarks.sssp_gpu sources MAKER NAME FOLDER GPUS      many sources
    python -m tests.benchmarks.sssp_gpu power MAKER NAME WATTS …            a power limit

MAKER is a Python file with ``make(name, xp)``, which returns indptr, indices and weights of an
undirected graph. Times are medians, warm, by device events (or by the host's clock after
synchronising: methods, build, sources, power).
"""

import argparse
import os
import shutil
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mgraph
from mgraph import CopyModel
from mgraph.core import cancellation
from mgraph.shortest_paths.problem import infinity_of, length_dtype
from tests.benchmarks.makers import made
from tests.benchmarks.tiny import add_option, apply, small

REPEATS = 7
FACTORS = tuple(2.0**k for k in range(-6, 9))  # times 32·w/d


class Bench:
    """One search on one graph, for repeated launches."""

    def __init__(self, graph, source):
        import cupy

        from mgraph.shortest_paths.near_far_gpu import Searcher

        self.graph, self.sources = graph, [np.array([source])]
        self.length = length_dtype(graph)
        self.searcher = Searcher(graph, self.length)
        self.distance = cupy.empty((1, graph.n), self.length)
        self.unit = 32 * graph.mean_weight * graph.n / graph.num_arcs

    def run(self, **options):
        return self.searcher.launch(
            self.sources,
            mean_weight=self.graph.mean_weight,
            cutoff=infinity_of(self.length) - 1,
            distance=self.distance,
            max_iterations=50_000,
            **options,
        )

    def milliseconds(self, repeats=REPEATS, **options):
        import cupy

        times = []
        for _ in range(repeats + 1):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            self.run(**options)
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end))
        return statistics.median(times[1:])

    def in_turn(self, count, *ways):
        """Time ways in turn, since clocks drift; return milliseconds ``(count, ways)``."""
        rows = [[self.milliseconds(1, **options) for options in ways] for _ in range(count)]
        return np.array(rows)

    def spread(self, **options):
        """Return iterations, arcs relaxed over m, X2's median and interquartile range over median.

        X2 is taken after the first tenth of the iterations. Each figure is the median of five
        searches, since no two take the same steps.
        """
        rows = []
        for _ in range(5):
            launched = self.run(trace_rows=50_000, **options)
            count = int(launched.iterations[0])
            x2 = launched.trace[1 : count + 1, 1].get()
            low, median, high = np.percentile(x2[count // 10 :], [25, 50, 75])
            work, spread = x2.sum() / self.graph.num_arcs, (high - low) / max(median, 1)
            rows.append((count, work, median, spread))
        return np.median(rows, axis=0)

    def checksum(self):
        reached = self.distance[self.distance < infinity_of(self.length)]
        return int(reached.size), int(reached.sum(dtype=np.int64))


def single(maker, names):
    import cupy

    for name in names:
        bench = Bench(*made(maker, name, "gpu"))
        sums = set()
        print(f"{name}: {bench.graph}, P {bench.searcher.default_set_point:,.0f}", flush=True)
        swept = {}
        for factor in FACTORS:
            swept[factor] = bench.milliseconds(5, delta=factor * bench.unit)
            sums.add(bench.checksum())
            if factor > 1 and swept[factor] > 3 * min(swept.values()):
                break
        best = min(swept, key=swept.get)
        aim = bench.searcher.default_set_point
        methods = {"self_tuning": {}, "near_far": {"delta": best * bench.unit}}
        ways = [
            {**options, **rows}
            for rows in ({}, {"trace_rows": 50_000})
            for options in methods.values()
        ]
        took = np.median(bench.in_turn(15, *ways), axis=0)
        bench.run()  # without a trace
        sums.add(bench.checksum())
        for i, (method, options) in enumerate(methods.items()):
            count, work, median, spread = bench.spread(**options)
            sums.add(bench.checksum())
            setting = f"delta x {best:g}" if options else f"X2/P {median / aim:.2f}"
            print(
                f"  {method:11s} {setting:12s} {took[i]:8.3f} ms, traced {took[i + 2]:8.3f} ms, "
                f"{count:,.0f} iterations, arcs {work:.2f} m, IQR/median {spread:.2f}",
                flush=True,
            )
        print("  swept: " + ", ".join(f"{f:g}: {t:.2f}" for f, t in swept.items()))
        assert len(sums) == 1, sums
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


def set_points(maker, names):
    import cupy

    for name in names:
        bench = Bench(*made(maker, name, "gpu"))
        default = bench.searcher.default_set_point
        print(f"{name}: {bench.graph}, P {default:,.0f}", flush=True)
        for factor in (1 / 64, 1 / 16, 1 / 4, 1):
            aim = {"set_point": factor * default}
            count, _, median, spread = bench.spread(**aim)
            took = bench.milliseconds(5, **aim)
            print(
                f"  P x {factor:<8g} {took:8.3f} ms, {count:,.0f} iterations, "
                f"X2/P {median / aim['set_point']:.2f}, IQR/median {spread:.2f}",
                flush=True,
            )
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


def controller(maker, names):
    """Measure the controller's time per iteration, and its share of whole searches.

    The graph has layers of vertices, each with arcs to the next layer, so that both methods expand
    one layer per iteration. They differ by the controller alone, with many hops per iteration as
    with one.
    """
    import cupy

    layers, width, degree = small(2048, 20), small(2048, 20), 4
    random = np.random.default_rng(1)
    head = np.arange(width, layers * width, dtype=np.int32)
    tail = random.integers(0, width, (degree, head.size)) + (head // width - 1) * width
    edges = mgraph.EdgeList(tail.ravel().astype(np.int32), np.tile(head, degree))
    bench = Bench(mgraph.from_edges(edges, directed=True, backend="gpu"), 0)
    bench.sources = [np.arange(width)]
    cost = {}
    for kind, hops in (("waves", 16), ("frontiers", 1)):
        ways = [{"hops": hops, "delta": 1e9}, {"hops": hops}]
        iterations = [bench.spread(**options)[0] for options in ways]
        took = bench.in_turn(25, *ways) / iterations
        cost[kind] = np.median(took[:, 1] - took[:, 0])
        fixed, tuned = 1e3 * np.median(took, axis=0)
        print(
            f"{kind}: near_far {iterations[0]:.0f} iterations, {fixed:.2f} us each; self_tuning "
            f"{iterations[1]:.0f}, {tuned:.2f} us; the controller {1e3 * cost[kind]:.2f} us",
            flush=True,
        )
    del bench
    for name in names:
        bench = Bench(*made(maker, name, "gpu"))
        count, took = bench.spread()[0], bench.milliseconds()
        kind = "waves" if name.startswith(("road", "grid")) else "frontiers"
        print(f"{name}: {took:.2f} ms, the controller {count * cost[kind] / took:.2%}", flush=True)
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


def watched(maker, names):
    """Time searches that poll a cancel flag over the bus, in turn with searches that do not."""
    import cupy

    for name in names:
        bench = Bench(*made(maker, name, "gpu"))
        for method, options in (("self_tuning", {}), ("near_far", {"delta": bench.unit})):
            rows = []
            for _ in range(25):
                alone = bench.milliseconds(1, **options)
                with cancellation.cancelled_when(lambda: False):
                    rows.append((alone, bench.milliseconds(1, **options)))
            alone, seen = np.median(rows, axis=0)
            print(f"{name}: {method:11s} {alone:.3f} ms, watched {seen:.3f} ms", flush=True)
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


def clock(function, *arguments, **options):
    """Return milliseconds by the host's clock, with the device idle before and after."""
    import cupy

    times = []
    for _ in range(4):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        function(*arguments, **options)
        cupy.cuda.Device().synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return statistics.median(times[1:])


def methods(maker, names):
    import cupy

    from mgraph.shortest_paths.near_far_gpu import Searcher

    for name in names:
        graph, source = made(maker, name, "gpu")
        took = {
            method: clock(mgraph.sssp, graph, source, method=method)
            for method in ("self_tuning", "near_far", "frontier_node", "frontier_edge")
        }
        took["with predecessors"] = clock(mgraph.sssp, graph, source, predecessors=True)
        print(f"{name}: " + ", ".join(f"{key} {t:.2f}" for key, t in took.items()), flush=True)
        count = max(1, min(32, int(4e9) // (8 * graph.n)))
        sources = [np.array([v]) for v in range(0, graph.n, graph.n // count)][:count]
        length = length_dtype(graph)
        options = {"mean_weight": graph.mean_weight, "cutoff": infinity_of(length) - 1}
        took = {}
        for groups in (1, 2, 4, 8, 16, 33):
            searcher = Searcher(graph, length, count, concurrency=groups)
            took[groups] = clock(searcher.launch, sources, **options) / count
            del searcher
            cupy.get_default_memory_pool().free_all_blocks()
        row = ", ".join(f"{groups}: {t:.3f}" for groups, t in took.items())
        print(f"  {count} sources, ms each, by groups: {row}", flush=True)


def backends(maker, names):
    for name in names:
        graph, source = made(maker, name, "cpu")
        row = []
        for count in (1, 16):
            vertices = [(source + i * graph.n // count) % graph.n for i in range(count)]
            took = [clock(mgraph.sssp, graph, vertices, backend=one) for one in ("cpu", "gpu")]
            row.append("{} sources: CPU {:.2f}, GPU {:.2f} ms".format(count, *took))
        print(f"{name}, {graph.num_arcs:,} arcs on the CPU, " + "; ".join(row), flush=True)


def build(folder):
    import cupy

    from mgraph.io import graph_dataset
    from mgraph.io.parquet import read_blocks

    model = CopyModel(small(125_000_000), 8, weights=(1, 100))  # 10^9 edges
    out = os.path.join(folder, "g")
    with mgraph.connect(workers=1, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        mgraph.generate(out, model, cluster=cluster, progress=None, overwrite=os.path.exists(out))
    dataset = mgraph.open_dataset(out)

    def parquet_alone():
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            jobs = [(dataset.folder, part.record.file) for part in dataset]
            return sum(pool.map(lambda job: sum(len(b) for b in read_blocks(*job)), jobs))

    pool = cupy.get_default_memory_pool()
    seconds = []
    for _ in range(6):
        begun = [time.perf_counter()]
        assert parquet_alone() == model.num_edges
        begun.append(time.perf_counter())
        edges = graph_dataset.read(dataset, "gpu").edges
        begun.append(time.perf_counter())
        del edges
        pool.free_all_blocks()
        begun.append(time.perf_counter())
        graph = mgraph.read_graph(out)
        cupy.cuda.Device().synchronize()
        begun.append(time.perf_counter())
        seconds.append(np.diff(begun)[[0, 1, 3]])
        peak, size = pool.total_bytes(), graph.nbytes
        del graph
        pool.free_all_blocks()
    alone, read, built = np.median(seconds[1:], axis=0)
    print(
        f"{model.num_edges:,} edges: PyArrow decodes in {alone:.3f} s; read to the GPU in "
        f"{read:.3f} s, to CSR in {built:.3f} s, {built / alone:.2f} of PyArrow's time; device "
        f"{peak / 1e9:.2f} GB, {peak / size:.2f} times the graph"
    )


def sources(maker, name, folder, gpus):
    graph, _ = made(maker, name, "gpu")
    data = os.path.join(folder, name)
    if not os.path.exists(data):
        mgraph.write_graph(graph, data)
    del graph
    cores = sorted(os.sched_getaffinity(0))
    count = 1
    base = {}
    while count <= gpus:
        os.sched_setaffinity(0, cores[: len(cores) * count // gpus])  # as many threads for each GPU
        with mgraph.connect(workers=count, backend="gpu", dashboard="127.0.0.1:0") as cluster:
            for kind in ("searches", "with rows"):
                out = os.path.join(folder, f"r{count}") if kind == "with rows" else None
                searches = 256 * count
                seconds = []
                for _ in range(6):  # the first warms up
                    run = mgraph.sssp_many(
                        data, random=searches, out=out, cluster=cluster, progress=None
                    )
                    seconds.append(run.search_seconds)
                    if out:
                        shutil.rmtree(out)
                rate = searches / statistics.median(seconds[1:])
                base.setdefault(kind, rate)
                print(
                    f"{count} GPUs, {kind}: {rate:.1f} sources/s, "
                    f"{rate / base[kind] / count:.1%} of linear",
                    flush=True,
                )
        count *= 2


def power(maker, name, limits):
    from mgraph.cuda.energy import EnergyMeter, idle_watts
    from mgraph.shortest_paths.power_governor import PowerGovernor

    graph, source = made(maker, name, "gpu")
    print(f"{name}: idle {idle_watts():.0f} W")
    batch_size = max(1, min(64, int(4e9) // (8 * graph.n)))
    for limit in (None, *limits):
        governor = PowerGovernor(limit) if limit else None
        for seconds in (small(8), small(12)):  # to settle, and to be measured
            count, began = 0, time.perf_counter()
            with EnergyMeter() as meter:
                while time.perf_counter() - began < seconds:
                    paths = mgraph.sssp(graph, [source] * batch_size, power_limit=governor)
                    int(paths.distance[0, source])
                    count += batch_size
        took = 1e3 * meter.seconds / count
        aim = (
            f", P x {governor.set_point_factor:.3f}, at work {governor.duty_cycle:.0%}"
            if governor
            else ""
        )
        print(f"  limit {limit}: {meter.watts:.0f} W, {took:.3f} ms per query{aim}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("single", "set_points", "controller", "watched", "methods", "backends"):
        command = verbs.add_parser(verb)
        command.add_argument("maker")
        command.add_argument("names", nargs="+")
    verbs.add_parser("build").add_argument("folder")
    command = verbs.add_parser("sources")
    for name, kind in (("maker", str), ("name", str), ("folder", str), ("gpus", int)):
        command.add_argument(name, type=kind)
    command = verbs.add_parser("power")
    command.add_argument("maker")
    command.add_argument("name")
    command.add_argument("limits", nargs="+", type=float)
    add_option(parser)
    arguments = vars(apply(parser.parse_args()))
    globals()[arguments.pop("verb")](**arguments)


if __name__ == "__main__":
    main()
