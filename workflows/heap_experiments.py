"""The experiments of the paper on heaps, again, at this machine's size.

    python workflows/heap_experiments.py OUT [--keys 2^29] [--only 13,table_3,…]
                                         [--graph GRAPH …] [--knapsack FILE …]

Source: Y. Chen, F. Hua, Y. Jin, E. Z. Zhang, "Accelerating concurrent heap on GPUs", section 5. Its
heaps take 2^29 keys; here --keys, by default as many on a GPU and 2^22 on CPUs, where the heap is
its twin on one core, and figures 13, 14 and 19 are left out. OUT has for each a table,
NAME.parquet, a plot of a figure, NAME.png, and all tables in tables.md.

table_1    heaps by the order of the keys: the concurrent one, the synchronous one, and one on one
           core, of single keys, 2^24 of them at most
table_3    shortest paths without and with the heap: time and vertices expanded, in each --graph,
           or in two that are made
table_5    knapsacks: branch and bound on one core and on a GPU, without and with collecting, of
           --knapsack files, or of Pisinger's kinds
figure_13  time against thread blocks
figure_14  top-down insertion against the keys a node, by threads a block
figure_15  bottom-up insertion                figure_18  pairs against the heap's size at first
figure_16  deletion                           figure_19  insertion against the share of full batches
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
NODE = 1024
CONCURRENT = {"gpu": ("top_down", "bottom_up"), "cpu": ("batch",)}
OTHERS = {"gpu": ("synchronous", "sequential"), "cpu": ("sequential",)}
KINDS = ("strongly_correlated", "almost_strongly_correlated", "even_odd", "subset_sum")
ON_GPU = ("figure_13", "figure_14", "figure_19")


class Experiments:
    """A method a table or figure: it returns its table, and draws its plot."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Of the command line's options."""
        self.out: Path = options.out
        self.backend: str = options.backend
        self.keys: int = options.keys or KEYS[self.backend]
        self.repeats: int = options.repeats
        self.graphs: list[str] = options.graph
        self.knapsacks: list[str] = options.knapsack
        self.time_limit: float = options.time_limit
        self.heaps: Sequence[str] = CONCURRENT[self.backend]

    @functools.cache  # noqa: B019 - figures 15 and 16 show the same runs
    def seconds(self, heap: str, keys: int = 0, **how: Any) -> Any:
        """What ``experiments.heap_seconds`` says; of one core with fewer keys, and once."""
        repeats = 1 if heap == "sequential" else self.repeats
        found = experiments.heap_seconds(heap, keys or self.keys, repeats=repeats, **how)
        options = ", ".join(f"{name} {value}" for name, value in how.items())
        print(f"  {heap} {options}: in {found.push:.4g} s, out {found.pop:.4g} s", flush=True)
        return found

    def draw(self, table: pd.DataFrame, name: str, column: str, by: str, **how: Any) -> Any:
        """Seconds against a column, a curve for each value of another one."""
        curves = {
            str(key): (rows[column], rows["s"]) for key, rows in table.groupby(by, sort=False)
        }
        how = {"x": column, "y": "run time, s", **how}
        experiments.plot_curves(curves, self.out / f"{name}.png", **how)
        return table

    def table_1(self) -> pd.DataFrame:
        """Heaps by the order of the keys: all in, then all out."""
        rows = []
        for heap in (*self.heaps, *OTHERS[self.backend]):
            keys = min(self.keys, 1 << 24) if heap == "sequential" else self.keys
            for order in ("random", "ascending", "descending"):
                push, pop = self.seconds(heap, keys, order=order)
                rows.append({"heap": heap, "order": order, "keys": keys, "in, s": push,
                             "out, s": pop, "keys/s": keys / (push + pop)})  # fmt: skip
        return pd.DataFrame(rows)

    def table_3(self) -> pd.DataFrame:
        """Shortest paths without and with the heap."""
        rows = []
        for name, graph, source in self.searched():
            ways = {"without": 1 << 31, "with": None}
            found = {
                way: self.searches(graph, source, method="heap", heap_threshold=threshold)
                for way, threshold in ways.items()
            }
            found["near_far"] = self.searches(graph, source, method="near_far")
            rows.append(
                {"graph": name, "vertices": graph.n, "arcs": graph.num_arcs}
                | {f"{way}, ms": ms for way, (ms, _) in found.items()}
                | {f"{way}, expanded": expanded for way, (_, expanded) in found.items()}
            )
            print(f"  {rows[-1]}", flush=True)
        return pd.DataFrame(rows)

    def searched(self) -> Any:
        """The graphs to search, and from where."""
        if self.graphs:
            for name in self.graphs:
                graph = mgraph.read_graph(name, backend=self.backend)
                yield name, graph, int((graph.indptr[1:] - graph.indptr[:-1]).argmax())
            return
        for d in (2, 8):
            n = self.keys // 16 // d
            model = mgraph.CopyModel(n, d, weights=(1, 1000))
            edges = model.edges(backend="cpu").edges
            graph = mgraph.from_edges(edges, n, directed=False, backend=self.backend)
            yield f"preferential attachment, d = {d}", graph, 0

    def searches(self, graph: Any, source: int, **how: Any) -> tuple[float, int]:
        """Milliseconds of all iterations, by the trace, and the vertices expanded."""
        mgraph.sssp(graph, source, backend=self.backend, **how)
        best = []
        for _ in range(self.repeats):
            trace = mgraph.sssp(graph, source, backend=self.backend, trace=True, **how).trace
            best.append((float(trace["nanoseconds"].sum()) / 1e6, int(trace["x1"].sum())))
        return sorted(best)[len(best) // 2]

    def table_5(self) -> pd.DataFrame:
        """Knapsacks by branch and bound: one core, and a GPU without and with collecting."""
        ways = {"core": ("cpu", False), "core, collecting": ("cpu", True)}
        if self.backend == "gpu":
            ways |= {"GPU": ("gpu", False), "GPU, collecting": ("gpu", True)}
        small = experiments.pisinger_instance("strongly_correlated", 50, 100, 500)
        for backend, collect in ways.values():
            self.pack(small, backend=backend, collect=collect)  # compiles
        rows = []
        for name, instance in self.packed():
            for key in ("bound", "profit"):
                for way, (backend, collect) in ways.items():
                    found = self.pack(instance, backend=backend, collect=collect, key=key)
                    rows.append(
                        {"instance": name, "items": instance.items, "key": key, "on": way,
                         "s": found.seconds, "nodes": found.nodes, "profit": found.profit,
                         "optimal": found.optimal}
                    )  # fmt: skip
                    print(f"  {rows[-1]}", flush=True)
        return pd.DataFrame(rows)

    def pack(self, instance: Any, **how: Any) -> Any:
        """Branch and bound, within the time limit."""
        what = instance.profits, instance.weights, instance.capacity
        return mgraph.knapsack(*what, method="branch_and_bound", time_limit=self.time_limit, **how)

    def packed(self) -> Any:
        """The instances to solve."""
        if self.knapsacks:
            for file in self.knapsacks:
                yield Path(file).name, mgraph.KnapsackInstance.read(file)
            return
        items = 1000 if self.backend == "gpu" else 300
        for kind in KINDS:
            yield f"{kind} {items}", experiments.pisinger_instance(kind, items, 10_000, 100)

    def figure_13(self) -> pd.DataFrame:
        """Time against thread blocks: insertion, and deletion."""
        rows = []
        for blocks in (8, 16, 32, 64, 128, 256):
            for heap in self.heaps:
                push, pop = self.seconds(heap, blocks=blocks)
                rows.append({"operation": f"{heap} insertion", "blocks": blocks, "s": push})
            rows.append({"operation": "deletion", "blocks": blocks, "s": pop})
        how = {"x": "thread blocks", "title": f"{self.keys:,} keys"}
        return self.draw(pd.DataFrame(rows), "figure_13", "blocks", "operation", **how)

    def by_capacity(self, heap: str, of: str, name: str) -> pd.DataFrame:
        """Time against the keys a node, by the threads a block."""
        rows = []
        threads = (128, 256, 512, 1024) if self.backend == "gpu" else (1,)
        for node in (64, 128, 256, 512, 1024):
            for block_threads in threads:
                if block_threads <= node:
                    how = {} if self.backend == "cpu" else {"block_threads": block_threads}
                    found = self.seconds(heap, node=node, **how)
                    seconds = found.push if of == "insertion" else found.pop
                    label = f"{block_threads} threads" if self.backend == "gpu" else "one core"
                    rows.append({"threads": label, "keys a node": node, "s": seconds})
        title = f"{heap} {of}, {self.keys:,} keys"
        return self.draw(pd.DataFrame(rows), name, "keys a node", "threads", title=title)

    def figure_14(self) -> pd.DataFrame:
        """Top-down insertion against the keys a node, by the threads a block."""
        return self.by_capacity(self.heaps[0], "insertion", "figure_14")

    def figure_15(self) -> pd.DataFrame:
        """Bottom-up insertion against the keys a node, by the threads a block."""
        return self.by_capacity(self.heaps[-1], "insertion", "figure_15")

    def figure_16(self) -> pd.DataFrame:
        """Deletion against the keys a node, by the threads a block."""
        return self.by_capacity(self.heaps[-1], "deletion", "figure_16")

    def figure_18(self) -> pd.DataFrame:
        """Pairs of an insertion and a deletion against the heap's size at first."""
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
        how = {"x": "nodes of the heap at first", "title": f"{pairs:,} pairs of full batches"}
        return self.draw(pd.DataFrame(rows), "figure_18", "nodes", "heap", **how)

    def figure_19(self) -> pd.DataFrame:
        """Insertion against the share of batches that are full."""
        rows = []
        for full in (0.0, 0.25, 0.5, 0.75, 1.0):
            for heap in self.heaps:
                push, _ = self.seconds(heap, self.keys // 8, full=full)
                rows.append({"heap": heap, "full batches": full, "s": push})
        how = {"title": f"{self.keys // 8:,} keys in", "logarithmic": "y"}
        return self.draw(pd.DataFrame(rows), "figure_19", "full batches", "heap", **how)


def names(text: str) -> list[str]:
    """``13,table_3`` as names of experiments."""
    known = [name for name in dir(Experiments) if name.startswith(("table_", "figure_"))]
    asked = [f"figure_{word}" if word.isdigit() else word for word in text.split(",") if word]
    if not set(asked) <= set(known):
        raise argparse.ArgumentTypeError(f"give some of {', '.join(known)}, with commas between")
    return [name for name in known if name in asked or not asked]


def run(options: argparse.Namespace) -> None:
    """Make what is asked for."""
    options.backend = experiments.resolve_backend(options.backend)
    experiments.check_figure(options.out / "figure_13.png")
    if options.repeats < 1:
        raise mgraph.UsageError(f"--repeats must be 1 at least, and is {options.repeats}")
    if options.keys is not None and (options.keys < 1 << 13 or options.keys % (1 << 13)):
        raise mgraph.UsageError(f"--keys must be a multiple of 8,192, and is {options.keys:,}")
    made = Experiments(options)
    told = f"{options.backend}, {made.keys:,} keys"
    report = experiments.TableReport(options.out, f"Heaps: experiments\n\n{told}")
    for place, name in enumerate(options.only):
        make: Callable[[], pd.DataFrame] = getattr(made, name)
        title = f"{name.replace('_', ' ').capitalize()}: {(make.__doc__ or '').strip()}"
        if name in ON_GPU and options.backend == "cpu":
            if len(options.only) == 1:
                raise mgraph.DeviceError(f"{name} is of thread blocks, which a CPU has not")
            print(f"{title} Left out: it needs a GPU.")
            continue
        print(title, flush=True)
        report.add(name, title, make(), place=place)
    print(f"figures, tables and tables.md in {options.out}")


def main(argv: list[str] | None = None) -> int:
    """Run the job; 0 when all is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--keys", type=experiments.parse_number, help="of the heaps")
    parser.add_argument("--only", type=names, default=names(""), help="as 13,table_3")
    parser.add_argument("--graph", action="append", default=[], help="for table_3; repeatable")
    parser.add_argument("--knapsack", nargs="*", default=[], help="instances for table_5")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds, of a knapsack")
    parser.add_argument("--backend", default="auto", help="auto, cpu or gpu")
    parser.add_argument("--repeats", type=int, default=3, help="the median of so many runs")
    options = parser.parse_args(argv)
    try:
        run(options)
    except mgraph.MgraphError as error:
        print(f"heap_experiments: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"heap_experiments: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
