"""The experiments of the paper on heaps, at this machine's size.

    python workflows/heap_experiments.py OUT [--keys 2^29] [--only 13,table_3,…]
                                         [--graph GRAPH … [--random-weights]]
                                         [--knapsack FILE …]

Source: Y. Chen et al., "Accelerating concurrent heap on GPUs", section 5. Its heaps take 2^29 keys;
here --keys, by default as many on a GPU and 2^22 on CPUs, where the heap is the one of a CPU, and
what needs a GPU is left out. OUT has for each a table, NAME.parquet, for a figure a plot, NAME.png
and NAME.svg, and all tables in tables.md.

table_1    heaps by the order of the keys: the concurrent one, the synchronous one, and one on one
           core, key by key, with at most 2^24 keys
table_2    the graphs of table_3, beside the paper's vertices and edges where it has them: each
           --graph, a file named as in the paper (NAME.mtx of the SuiteSparse collection), or the
           three that can be made, smaller by the ratio of 2^29 to --keys
table_3    shortest paths without and with the heap in those graphs: time and vertices expanded;
           --threshold is the paper's N, by default its 10,000, and fewer in smaller graphs
table_5    knapsacks: the paper's branch and bound, and mgraph's with two keys, on one core and on a
           GPU, without and with collecting, of the paper's table 4 beside what it printed, of
           fewer items on CPUs, or of --knapsack files
figure_13  time against thread blocks
figure_14  top-down insertion against the keys per node, by threads per block
figure_15  bottom-up insertion                figure_18  pairs against the heap's initial size
figure_16  deletion                           figure_19  insertion against the share of full batches
table_multi_heap  several heaps as one queue, which the paper does not have: time and rank error
"""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import mgraph
from mgraph import experiments

KEYS = {"gpu": 1 << 29, "cpu": 1 << 22}
TIME_LIMITS = {"gpu": 60.0, "cpu": 5.0}  # seconds per knapsack
THRESHOLD, MIN_THRESHOLD = 10_000, 64  # the paper's N
NUMBER = 100  # of an instance in a series of 1,000
FEWER_ITEMS = {"gpu": 1, "cpu": 10}
NODE = 1024
CONCURRENT = {"gpu": ("top_down", "bottom_up", "paper_bottom_up"), "cpu": ("batch",)}
BOTTOM_UP = {"gpu": "bottom_up", "cpu": "batch"}
OTHERS = {"gpu": ("synchronous", "sequential"), "cpu": ("sequential",)}
ON_GPU = ("figure_13", "figure_14", "figure_19", "table_multi_heap")


class Experiments:
    """One method per table or figure: it returns the table, and draws the plot."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Take the command line's options."""
        self.out: Path = options.out
        self.backend: str = options.backend
        self.keys: int = options.keys or KEYS[self.backend]
        self.repeats: int = options.repeats
        self.files: list[str] = options.graph
        self.random_weights: bool = options.random_weights
        self.knapsacks: list[str] = options.knapsack
        self.time_limit: float = (
            TIME_LIMITS[self.backend] if options.time_limit is None else options.time_limit
        )
        self.smaller: int = max(0, KEYS["gpu"].bit_length() - self.keys.bit_length())
        default = THRESHOLD if self.files else max(MIN_THRESHOLD, THRESHOLD >> self.smaller)
        self.threshold: int = default if options.threshold is None else options.threshold
        self.heaps: Sequence[str] = CONCURRENT[self.backend]

    @functools.cache  # noqa: B019 - figures 15 and 16 show the same runs
    def measure_seconds(self, heap: str, keys: int = 0, **options: Any) -> Any:
        """Return ``experiments.heap_seconds``; of the heap on one core a single run."""
        repeats = 1 if heap == "sequential" else self.repeats
        seconds = experiments.heap_seconds(heap, keys or self.keys, repeats=repeats, **options)
        settings = ", ".join(f"{name} {value}" for name, value in options.items())
        print(f"  {heap} {settings}: in {seconds.push:.4g} s, out {seconds.pop:.4g} s", flush=True)
        return seconds

    def draw(self, table: pd.DataFrame, name: str, column: str, by: str, **axes: Any) -> Any:
        """Draw seconds against a column, one curve per value of another one."""
        curves = {
            str(key): (rows[column], rows["s"]) for key, rows in table.groupby(by, sort=False)
        }
        axes = {"x": column, "y": "run time, s", **axes}
        experiments.plot_curves(curves, experiments.figure_files(self.out, name), **axes)
        return table

    def table_1(self) -> pd.DataFrame:
        """Heaps by the order of the keys: all in, then all out."""
        rows = []
        compared = ("merge_path",) if self.backend == "gpu" else ()
        for heap in (*self.heaps, *compared, *OTHERS[self.backend]):
            keys = min(self.keys, 1 << 24) if heap == "sequential" else self.keys
            for order in ("random", "ascending", "descending"):
                push, pop = self.measure_seconds(heap, keys, order=order)
                rows.append({"heap": heap, "order": order, "keys": keys, "in, s": push,
                             "out, s": pop, "keys/s": keys / (push + pop)})  # fmt: skip
        return pd.DataFrame(rows)

    def table_2(self) -> pd.DataFrame:
        """Graphs for shortest paths, beside the paper's (whose edges are arcs)."""
        table = experiments.HEAP_PAPER_GRAPHS
        rows = []
        for name, graph, original in self.graphs:
            listed = table.get(original)
            rows.append(
                {"graph": name, "vertices": graph.n, "arcs": graph.num_arcs,
                 "paper's graph": original if listed else "none",
                 "paper's vertices": listed.vertices if listed else None,
                 "paper's edges": listed.edges if listed else None,
                 "kind": listed.kind if listed else "not in the paper"}
            )  # fmt: skip
            print(f"  {rows[-1]}", flush=True)
        absent = [name for name in table if name not in {row["paper's graph"] for row in rows}]
        if absent:
            print(f"  Not at hand unless given as --graph NAME.mtx: {', '.join(absent)}.")
        return pd.DataFrame(rows).astype({"paper's vertices": "Int64", "paper's edges": "Int64"})

    def table_3(self) -> pd.DataFrame:
        """Shortest paths without and with the heap."""
        rows = []
        for name, graph, _ in self.graphs:
            source = int((graph.indptr[1:] - graph.indptr[:-1]).argmax())
            thresholds = {"without": 1 << 31, "with": self.threshold}
            results = {
                way: self.measure_search(graph, source, method="heap", heap_threshold=threshold)
                for way, threshold in thresholds.items()
            }
            results["near_far"] = self.measure_search(graph, source, method="near_far")
            rows.append(
                {"graph": name, "vertices": graph.n, "arcs": graph.num_arcs, "N": self.threshold}
                | {f"{way}, ms": ms for way, (ms, _) in results.items()}
                | {f"{way}, expanded": expanded for way, (_, expanded) in results.items()}
            )
            print(f"  {rows[-1]}", flush=True)
        return pd.DataFrame(rows)

    @functools.cached_property
    def graphs(self) -> list[tuple[str, Any, str]]:
        """The graphs to search: name, graph, and name in the paper's table 2 if it is there."""
        found = []
        for file in self.files:
            graph = mgraph.read_graph(file, backend=self.backend)
            if self.random_weights:
                graph = experiments.with_random_weights(graph, (1, 1000))
            found.append((file, graph, Path(file).name.partition(".")[0]))
        if not self.files:
            for original in experiments.MADE_HEAP_GRAPHS:
                made = experiments.make_heap_graph(
                    original, smaller=self.smaller, backend=self.backend
                )
                found.append((*made, original))
        return found

    def measure_search(self, graph: Any, source: int, **options: Any) -> tuple[float, int]:
        """Return milliseconds of all iterations, by the trace, and the vertices expanded."""
        mgraph.sssp(graph, source, backend=self.backend, **options)
        runs = []
        for _ in range(self.repeats):
            trace = mgraph.sssp(graph, source, backend=self.backend, trace=True, **options).trace
            runs.append((float(trace["nanoseconds"].sum()) / 1e6, int(trace["x1"].sum())))
        return sorted(runs)[len(runs) // 2]

    def table_5(self) -> pd.DataFrame:
        """Knapsacks by branch and bound: one core, and a GPU, without and with collecting."""
        ways = {"core": ("cpu", False), "core, collecting": ("cpu", True)}
        if self.backend == "gpu":
            ways |= {"GPU": ("gpu", False), "GPU, collecting": ("gpu", True)}
        small = experiments.pisinger_instance("strongly_correlated", 50, 100, 500)
        for backend, collect in ways.values():
            self.solve_knapsack(small, backend=backend, collect=collect)  # compiles
        rows = []
        searches = {
            "the paper's": {"method": "plain_branch_and_bound"},
            "by profit": {"key": "profit"},
            "by bound": {"key": "bound"},
        }
        for name, instance, paper in self.read_knapsacks():
            for search, options in searches.items():
                for way, (backend, collect) in ways.items():
                    row = {"instance": name, "items": instance.items, "search": search, "on": way}
                    try:
                        found = self.solve_knapsack(
                            instance, backend=backend, collect=collect, **options
                        )
                    except mgraph.OutOfMemoryError as error:
                        print(f"  {row}: left out, since {error}", flush=True)
                        continue
                    row |= {"s": found.seconds, "nodes": found.nodes, "profit": found.profit,
                            "optimal": found.optimal}  # fmt: skip
                    printed = self.find_printed(paper, way) if search == "the paper's" else None
                    if printed is not None:
                        seconds = printed.milliseconds / 1000
                        row |= {"paper's s": seconds, "paper's nodes": printed.nodes}
                        if found.optimal:  # not of a search that the time limit ended
                            row["times as fast"] = seconds / found.seconds
                    rows.append(row)
                    print(f"  {row}", flush=True)
        return pd.DataFrame(rows)

    @staticmethod
    def find_printed(paper: Any, way: str) -> Any:
        """Return what the paper printed of a search, or None."""
        names = {"core": "core", "GPU": "gpu", "GPU, collecting": "gpu_collecting"}
        return getattr(paper, names[way]) if paper is not None and way in names else None

    def solve_knapsack(self, instance: Any, **options: Any) -> Any:
        """Solve an instance by branch and bound, within the time limit."""
        data = instance.profits, instance.weights, instance.capacity
        options = {"method": "branch_and_bound", "time_limit": self.time_limit, **options}
        return mgraph.knapsack(*data, **options)

    def read_knapsacks(self) -> Any:
        """Yield the instances to solve: name, instance, and the paper's row, or None."""
        if self.knapsacks:
            for file in self.knapsacks:
                yield Path(file).name, mgraph.KnapsackInstance.read(file), None
            return
        fewer = FEWER_ITEMS[self.backend]
        for name, paper in experiments.HEAP_PAPER_KNAPSACKS.items():
            instance = experiments.pisinger_instance(
                paper.kind, paper.items // fewer, paper.coefficients, NUMBER
            )
            yield name, instance, paper if fewer == 1 else None

    def figure_13(self) -> pd.DataFrame:
        """Time against thread blocks: insertion, and deletion."""
        rows = []
        for blocks in (8, 16, 32, 64, 128, 256):
            for heap in self.heaps:
                push, pop = self.measure_seconds(heap, blocks=blocks)
                rows.append({"operation": f"{heap} insertion", "blocks": blocks, "s": push})
                if heap == "bottom_up":
                    rows.append({"operation": "deletion", "blocks": blocks, "s": pop})
        axes = {"x": "thread blocks", "title": f"{self.keys:,} keys"}
        return self.draw(pd.DataFrame(rows), "figure_13", "blocks", "operation", **axes)

    def sweep_node_sizes(self, heap: str, operation: str, name: str) -> pd.DataFrame:
        """Measure time against the keys per node, by threads per block."""
        rows = []
        threads = (128, 256, 512, 1024) if self.backend == "gpu" else (1,)
        for node in (64, 128, 256, 512, 1024):
            for block_threads in threads:
                if block_threads <= node:
                    options = {} if self.backend == "cpu" else {"block_threads": block_threads}
                    push, pop = self.measure_seconds(heap, node=node, **options)
                    seconds = push if operation == "insertion" else pop
                    label = f"{block_threads} threads" if self.backend == "gpu" else "one core"
                    rows.append({"threads": label, "keys a node": node, "s": seconds})
        axes = {"x": "keys per node", "title": f"{heap} {operation}, {self.keys:,} keys"}
        return self.draw(pd.DataFrame(rows), name, "keys a node", "threads", **axes)

    def figure_14(self) -> pd.DataFrame:
        """Top-down insertion against the keys per node, by threads per block."""
        return self.sweep_node_sizes("top_down", "insertion", "figure_14")

    def figure_15(self) -> pd.DataFrame:
        """Bottom-up insertion against the keys per node, by threads per block."""
        return self.sweep_node_sizes(BOTTOM_UP[self.backend], "insertion", "figure_15")

    def figure_16(self) -> pd.DataFrame:
        """Deletion against the keys per node, by threads per block."""
        return self.sweep_node_sizes(BOTTOM_UP[self.backend], "deletion", "figure_16")

    def figure_18(self) -> pd.DataFrame:
        """Pairs of an insertion and a deletion against the heap's initial size."""
        rows = []
        pairs = max(256, self.keys // 2048)
        for levels in range(6, 19, 2) if self.backend == "gpu" else range(4, 13, 2):
            for heap in (*self.heaps, *OTHERS[self.backend]):
                if heap == "sequential" and self.backend == "gpu":
                    continue
                seconds = experiments.heap_pair_seconds(
                    heap, 1 << levels, pairs, repeats=self.repeats
                )
                rows.append({"heap": heap, "nodes": 1 << levels, "pairs": pairs, "s": seconds,
                             "operations/s": 2 * pairs / seconds})  # fmt: skip
                print(f"  {rows[-1]}", flush=True)
        axes = {"x": "initial nodes of the heap", "title": f"{pairs:,} pairs of full batches"}
        return self.draw(pd.DataFrame(rows), "figure_18", "nodes", "heap", **axes)

    def figure_19(self) -> pd.DataFrame:
        """Insertion against the share of batches that are full."""
        rows = []
        for full in (0.0, 0.25, 0.5, 0.75, 1.0):
            for heap in self.heaps:
                push, _ = self.measure_seconds(heap, self.keys // 8, full=full)
                rows.append({"heap": heap, "full batches": full, "s": push})
        axes = {"title": f"{self.keys // 8:,} keys in", "logarithmic": "y"}
        return self.draw(pd.DataFrame(rows), "figure_19", "full batches", "heap", **axes)

    def table_multi_heap(self) -> pd.DataFrame:
        """Several heaps as one queue: time, and the mean rank error of the keys that come out."""
        rows = []
        for heaps in (1, 2, 4, 8, 16, 32, 64):
            found = experiments.multi_heap_seconds(heaps, self.keys // 4, repeats=self.repeats)
            rows.append({"heaps": heaps, "keys": self.keys // 4, "in, s": found.push,
                         "out, s": found.pop, "rank error": found.rank_error})  # fmt: skip
            print(f"  {rows[-1]}", flush=True)
        return pd.DataFrame(rows)


def parse_names(text: str) -> list[str]:
    """Parse ``13,table_3`` into names of experiments."""
    known = [name for name in dir(Experiments) if name.startswith(("table_", "figure_"))]
    requested = [f"figure_{word}" if word.isdigit() else word for word in text.split(",") if word]
    if not set(requested) <= set(known):
        raise argparse.ArgumentTypeError(
            f"must be a list such as 13,table_3 of {', '.join(known)} (got {text!r})"
        )
    return [name for name in known if name in requested or not requested]


def make_experiments(options: argparse.Namespace) -> None:
    """Make the requested tables and figures."""
    options.backend = experiments.resolve_backend(options.backend)
    experiments.check_figure(options.out / "figure_13.png")
    if options.repeats < 1:
        raise mgraph.UsageError(f"--repeats must be at least 1 (got {options.repeats})")
    if options.keys is not None and (options.keys < 1 << 13 or options.keys % (1 << 13)):
        raise mgraph.UsageError(f"--keys must be a multiple of 8,192 (got {options.keys:,})")
    experiment = Experiments(options)
    size = f"{options.backend}, {experiment.keys:,} keys"
    report = experiments.TableReport(options.out, f"Heaps: experiments\n\n{size}")
    for place, name in enumerate(options.only):
        make: Callable[[], pd.DataFrame] = getattr(experiment, name)
        title = f"{name.replace('_', ' ').capitalize()}: {(make.__doc__ or '').strip()}"
        if name in ON_GPU and options.backend == "cpu":
            if len(options.only) == 1:
                raise mgraph.DeviceError(f"{name} needs a GPU, and there is none")
            print(f"{title} Left out: it needs a GPU.")
            continue
        print(title, flush=True)
        report.add(name, title, make(), place=place)
    print(f"figures, tables and tables.md in {options.out}")


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once all tables and figures are made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--keys", type=experiments.parse_number, help="the number of keys in the heaps"
    )
    parser.add_argument("--only", type=parse_names, default=parse_names(""), help="as 13,table_3")
    parser.add_argument(
        "--graph", action="append", default=[], help="for table_2 and table_3; repeatable"
    )
    parser.add_argument(
        "--random-weights", action="store_true",
        help="draw weights of 1 to 1,000 for each --graph, whose file has none or negative ones",
    )  # fmt: skip
    parser.add_argument("--knapsack", nargs="*", default=[], help="instances for table_5")
    parser.add_argument(
        "--time-limit", type=float, help="seconds per knapsack, by default 60 on a GPU, else 5"
    )
    parser.add_argument("--threshold", type=experiments.parse_number, help="N of table_3")
    parser.add_argument("--backend", default="auto", help="auto, cpu or gpu")
    parser.add_argument(
        "--repeats", type=int, default=3, help="report the median of this many runs"
    )
    options = parser.parse_args(argv)
    try:
        make_experiments(options)
    except mgraph.MgraphError as error:
        print(f"heap_experiments: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"heap_experiments: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
