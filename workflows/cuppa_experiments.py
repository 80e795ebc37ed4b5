"""The experiments of the paper on cuPPA at this machine's size: its figures 3 to 16.

    python workflows/cuppa_experiments.py OUT [--edges 2e9] [--only 3,7,…] [--scheduler ADDRESS]

Source: M. Alam, K. S. Perumalla, P. Sanders, "Novel parallel algorithms for fast multi-GPU-based
generation of massive scale-free networks", section 5. Most of its graphs have 2·10^9 edges; here
--edges, by default as many on a GPU and 2·10^6 on CPUs. OUT has for each figure a table,
figure_N.parquet, and a plot, figure_N.png and figure_N.svg; tables.md has all tables, of degree
distributions one line per graph. Figure 16 comes first, since its cluster may be missing.

 3  degree distributions of all generators           12  run time against n, by d
4-6 drawings of graphs, n = 10,000, d = 1, 2, 4
 7  those of cuppa and cuppa_hash, by p               13  run time against d, by p
 8  a vertex's copies from its own round, by d, p     14  run time against p, by (n, d)
 9  the same by round and d                           15  run time against threads per block (GPU)
10  run time of all generators, with KaGen's and      16  strong scaling over the cluster's workers
    NetworKit's if they are installed
11  run time against n, by p
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

import mgraph
from mgraph import experiments

MAX_EDGES = {"gpu": 2_000_000_000, "cpu": 2_000_000}  # edges
MIN_EDGES = 10_000
METHODS = ("ba", "copy", "copy_hash", "cuppa", "cuppa_hash")
SEQUENTIAL = ("ba", "copy", "copy_hash")
TEAMS = 1280  # the paper's threads, of one vertex each, in figures 8 and 9
MAX_SLOTS = {"gpu": 4096, "cpu": 512}  # per vertex, in figure 8
ROUNDS = {"gpu": 100, "cpu": 30}  # of figure 9
FROM_OWN_ROUND = "a vertex's copies from its own round, at most"


class Experiments:
    """One method per figure: it draws the plot and returns the table."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Take the command line's options."""
        self.out: Path = options.out
        self.repeats: int = options.repeats
        self.backend: str = options.backend
        self.edges: int = MAX_EDGES[self.backend] if options.edges is None else options.edges
        self.connection: dict[str, Any] = {
            "scheduler": options.scheduler,
            "workers": options.workers,
        }

    def plot_files(self, figure: int) -> list[str]:
        """Return the files of a figure's plot."""
        return experiments.figure_files(self.out, f"figure_{figure}")

    def make_model(
        self, n: int, d: int, p: float = 0.5, method: str = "cuppa", seed: int = 1
    ) -> mgraph.CopyModel:
        """Return the model of a graph of at least 10 d vertices."""
        return mgraph.CopyModel(max(n, 10 * d), d, p, seed, method)

    def choose_backend(self, method: str) -> str:
        """Return where a method runs: cuppa and cuppa_hash on a GPU, if there is one."""
        return self.backend if method.startswith("cuppa") else "cpu"

    def measure_seconds(
        self, model: mgraph.CopyModel, backend: str | None = None, **options: Any
    ) -> float:
        """Return the median time to make a graph, of a single run if it takes long on a CPU."""
        backend = backend or self.choose_backend(model.method)
        is_slow = backend == "cpu" and model.num_edges > 10_000_000
        repeats = 1 if is_slow else self.repeats
        threads = 1 if model.method in SEQUENTIAL else None
        return statistics.median(
            experiments.generator_seconds(
                model, repeats=repeats, backend=backend, threads=threads, **options
            )
        )

    def count_degrees(self, model: mgraph.CopyModel) -> Any:
        """Count how many vertices have each degree."""
        return model.edges(backend=self.choose_backend(model.method)).edges.degree_histogram(
            model.n
        )

    def plot_degrees(
        self, models: dict[str, mgraph.CopyModel], figure: int, title: str
    ) -> pd.DataFrame:
        """Plot degree distributions by label, in figure 7 with one colour per two methods."""
        histograms = {label: self.count_degrees(model) for label, model in models.items()}
        methods = 2 if figure == 7 else 1
        experiments.plot_degree_distributions(
            histograms, self.plot_files(figure), title=title, alike=methods
        )
        tables = [
            pd.DataFrame({"graph": label, "degree": degree, "vertices": count})
            for label, (degree, count) in histograms.items()
        ]
        return pd.concat(tables, ignore_index=True)

    def measure_times(self, models: Iterable[mgraph.CopyModel], **options: Any) -> pd.DataFrame:
        """Measure run times; return one row per graph."""
        rows = []
        for model in dict.fromkeys(models):
            seconds = self.measure_seconds(model, **options)
            rows.append(
                {"method": model.method, "n": model.n, "d": model.d, "p": model.p,
                 "edges": model.num_edges, "seconds": seconds, "edges/s": model.num_edges / seconds}
            )  # fmt: skip
            print(f"  n {model.n:,} d {model.d} p {model.p:g}: {seconds:.3g} s", flush=True)
        return pd.DataFrame(rows)

    def draw(
        self,
        table: pd.DataFrame,
        figure: int,
        x: str,
        by: str,
        column: str = "seconds",
        **axes: Any,
    ) -> pd.DataFrame:
        """Draw one curve per value of a column."""
        curves = {
            f"{by} = {key:g}" if isinstance(key, (int, float)) else str(key): (
                rows[x],
                rows[column],
            )
            for key, rows in table.groupby(by, sort=False)
        }
        names = {
            "n": "vertices n",
            "d": "edges per vertex d",
            "p": "probability p of a direct edge",
        }
        axes = {"y": "run time, s", **axes}
        experiments.plot_curves(curves, self.plot_files(figure), x=names.get(x, x), **axes)
        return table

    def figure_3(self) -> pd.DataFrame:
        """Degree distributions of all generators."""
        models = {
            method: self.make_model(self.edges // 4, 4, method=method, seed=seed)
            for seed, method in enumerate(METHODS)
        }
        return self.plot_degrees(models, 3, f"{self.edges // 4:,} vertices, d = 4, p = 0.5")

    def draw_graph(self, figure: int, d: int) -> pd.DataFrame:
        """Draw a graph; return its degrees."""
        model = self.make_model(10_000, d)
        edges = model.edges(backend=self.choose_backend(model.method)).edges
        graph = mgraph.from_edges(edges, model.n, directed=False).to_cpu()
        title = f"{model.n:,} vertices, d = {d}, p = 0.5"
        experiments.plot_graph(graph, self.plot_files(figure), title=title)
        degree, count = edges.degree_histogram(model.n)
        return pd.DataFrame({"graph": f"d = {d}", "degree": degree, "vertices": count})

    def figure_4(self) -> pd.DataFrame:
        """A graph of 10,000 vertices, drawn: d = 1."""
        return self.draw_graph(4, 1)

    def figure_5(self) -> pd.DataFrame:
        """A graph of 10,000 vertices, drawn: d = 2."""
        return self.draw_graph(5, 2)

    def figure_6(self) -> pd.DataFrame:
        """A graph of 10,000 vertices, drawn: d = 4."""
        return self.draw_graph(6, 4)

    def figure_7(self) -> pd.DataFrame:
        """Degree distributions of cuppa and cuppa_hash, by p."""
        models = {
            f"{method}, p = {p:g}": self.make_model(self.edges // 4, 4, p, method)
            for p in (0, 0.01, 0.25, 0.5, 0.75, 1)
            for method in ("cuppa", "cuppa_hash")
        }
        return self.plot_degrees(models, 7, f"{self.edges // 4:,} vertices, d = 4")

    def count_dependent(self, d: int, p: float, rounds: int) -> pd.DataFrame:
        """Count copies from a vertex's own round of ``TEAMS`` vertices: those that may wait."""
        model = self.make_model(d + rounds * TEAMS, d, p)
        copy_counts = experiments.copy_statistics(model, backend=self.backend, segments=TEAMS)
        counts = copy_counts.rounds[:rounds]
        table = pd.DataFrame(counts).assign(round=range(1, len(counts) + 1), d=d, p=p)
        table["mean"] = table["dependent"] / (table["stop"] - table["first"])
        queues = ["longest", "waited"] if self.backend == "gpu" else []
        return table[["d", "p", "round", "most_dependent", "mean", *queues]]

    def figure_8(self) -> pd.DataFrame:
        """A vertex's copies from its own round, the first, against d, by p."""
        ds = [1 << i for i in range(13) if 1 << i <= MAX_SLOTS[self.backend]]
        table = pd.concat(
            [self.count_dependent(d, p, 1) for p in (0, 0.01, 0.25, 0.5, 0.75, 0.99) for d in ds],
            ignore_index=True,
        )
        worst = pd.DataFrame({"d": ds, "p": "worst case", "most_dependent": ds})
        shown = pd.concat([table.assign(p=[f"p = {p:g}" for p in table["p"]]), worst])
        title = f"first round, {TEAMS:,} vertices"
        self.draw(shown, 8, "d", "p", "most_dependent", y=FROM_OWN_ROUND, title=title)
        return table

    def figure_9(self) -> pd.DataFrame:
        """A vertex's copies from its own round, by round and d."""
        rounds = ROUNDS[self.backend]
        table = pd.concat(
            [self.count_dependent(d, 0.5, rounds) for d in (512, 256, 128, 64)], ignore_index=True
        )
        axes = {"title": f"p = 0.5, rounds of {TEAMS:,} vertices", "logarithmic": "y"}
        return self.draw(table, 9, "round", "d", "most_dependent", y=FROM_OWN_ROUND, **axes)

    def figure_10(self) -> pd.DataFrame:
        """Run time of all generators."""
        n, cores = self.edges // 4, experiments.available_cores()
        runs = [(method, "cpu", "one core") for method in SEQUENTIAL]
        runs += [(method, "cpu", f"{cores} cores") for method in ("cuppa", "cuppa_hash")]
        if self.backend == "gpu":
            runs += [(method, "gpu", "GPU") for method in ("cuppa", "cuppa_hash")]
        rows = []
        for method, backend, device in runs:
            model = self.make_model(n, 4, method=method)
            rows.append((method, device, self.measure_seconds(model, backend)))
        for name in experiments.OTHER_GENERATORS:
            try:
                seconds = experiments.other_generator_seconds(name, n, 4)[0]
                rows.append((name, "one core", seconds))
            except mgraph.UsageError as error:
                print(f"  left out: {name}: {error}")
        table = pd.DataFrame(rows, columns=["generator", "device", "seconds"])
        table["edges/s"] = 4 * n / table["seconds"]
        dots = {f"{name} ({device})": seconds for name, device, seconds in rows}
        title = f"{n:,} vertices, d = 4, p = 0.5, in memory"
        experiments.plot_dots(dots, self.plot_files(10), x="run time, s", title=title)
        return table

    def figure_11(self) -> pd.DataFrame:
        """Run time against n, by p."""
        table = self.measure_times(
            self.make_model((self.edges // 4) >> i, 4, p)
            for p in (0, 0.001, 0.25, 0.5, 0.75, 1)
            for i in range(8, -1, -1)
        )
        return self.draw(table, 11, "n", "p", title="d = 4")

    def figure_12(self) -> pd.DataFrame:
        """Run time against n, by d."""
        table = self.measure_times(
            self.make_model((self.edges // 256) >> i, d)
            for d in (1, 2, 4, 8, 16, 32, 64, 128)
            for i in range(7, -1, -1)
        )
        return self.draw(table, 12, "n", "d", title="p = 0.5")

    def figure_13(self) -> pd.DataFrame:
        """Run time against d, by p."""
        n = self.edges // 256
        table = self.measure_times(
            self.make_model(n, d, p)
            for p in (0, 1e-5, 0.001, 0.25, 0.5, 0.75, 1)
            for d in (1, 2, 4, 8, 16, 32, 64, 128)
        )
        return self.draw(table, 13, "d", "p", title=f"{n:,} vertices")

    def figure_14(self) -> pd.DataFrame:
        """Run time against p, by (n, d)."""
        ps = (0, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1)
        table = self.measure_times(
            self.make_model(self.edges // d, d, p) for d in (4, 16, 64) for p in ps
        )
        table["graph"] = [f"n = {n:,}, d = {d}" for n, d in zip(table.n, table.d, strict=True)]
        return self.draw(table, 14, "p", "graph", title="cuppa")

    def figure_15(self) -> pd.DataFrame:
        """Run time against threads per block, and the speed-up over 64 of them."""
        if self.backend == "cpu":
            raise mgraph.DeviceError("figure 15 is of threads per block, which a CPU does not have")
        rows = []
        for threads in (64, 128, 256, 512, 1024):
            models = [self.make_model(self.edges // d, d) for d in (1, 4, 8, 32)]
            rows.append(self.measure_times(models, block_threads=threads).assign(threads=threads))
        table = pd.concat(rows, ignore_index=True)
        table["graph"] = [f"n = {n:,}, d = {d}" for n, d in zip(table.n, table.d, strict=True)]
        at_64 = table[table["threads"] == 64].set_index("graph")["seconds"]
        table["speed-up"] = table["graph"].map(at_64) / table["seconds"]
        dashed = {k: (r["threads"], r["speed-up"]) for k, r in table.groupby("graph", sort=False)}
        return self.draw(
            table,
            15,
            "threads",
            "graph",
            title="cuppa, p = 0.5",
            logarithmic="x",
            dashed=dashed,
            dashed_y="speed-up over 64 (dashed)",
        )

    def figure_16(self) -> pd.DataFrame:
        """Strong scaling of cuppa_hash over the cluster's workers."""
        model = self.make_model(self.edges // 2, 4, method="cuppa_hash")
        cluster = mgraph.connect(backend=self.backend, **self.connection)
        table = pd.DataFrame(
            experiments.generator_scaling(model, repeats=self.repeats, cluster=cluster)
        )
        table["speed-up"] = table["seconds"].iloc[0] / table["seconds"]
        curves = {"measured": (table["workers"], table["speed-up"])}
        title = f"cuppa_hash, {model.n:,} vertices, d = 4"
        experiments.plot_curves(
            curves,
            self.plot_files(16),
            x="workers",
            y="speed-up over one",
            title=title,
            logarithmic="",
            ideal={"linear": (table["workers"], table["workers"])},
        )
        return table


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per graph of a table of degree distributions, other tables unchanged."""
    if "degree" not in table:
        return table
    rows = []
    for graph, degrees in table.groupby("graph", sort=False):
        above = degrees["vertices"][::-1].cumsum()[::-1]  # vertices of that degree or a higher one
        row: dict[str, Any] = {"graph": graph, "highest degree": degrees["degree"].iloc[-1]}
        for share in (0.5, 0.1, 0.01, 1e-3, 1e-4):
            few = degrees["degree"][above >= share * above.iloc[0]]
            row[f"of the highest {share:.4g}"] = few.iloc[-1]
        rows.append(row)
    return pd.DataFrame(rows)


def parse_figures(text: str) -> list[int]:
    """Parse ``3,7`` into numbers of figures."""
    known = {name.removeprefix("figure_") for name in dir(Experiments) if "figure_" in name}
    requested = set(text.split(",")) if text else known
    if not requested <= known:
        numbers = ", ".join(sorted(known, key=int))
        raise argparse.ArgumentTypeError(f"must be a list such as 3,7 of {numbers} (got {text!r})")
    return sorted(map(int, requested))


def make_figures(options: argparse.Namespace) -> None:
    """Make the requested figures and their tables."""
    options.backend = experiments.resolve_backend(options.backend)
    experiments.check_figure(options.out / "figure_3.png")
    if options.edges is not None and options.edges < MIN_EDGES:
        raise mgraph.UsageError(f"--edges must be at least {MIN_EDGES:,} (got {options.edges:,})")
    if options.repeats < 1:
        raise mgraph.UsageError(f"--repeats must be at least 1 (got {options.repeats})")
    figures = Experiments(options)
    size = f"{options.backend}, {figures.edges:,} edges at most"
    report = experiments.TableReport(options.out, f"cuPPA's experiments\n\n{size}")
    for number in sorted(options.only, key=lambda number: number != 16):
        make: Callable[[], pd.DataFrame] = getattr(figures, f"figure_{number}")
        title = f"Figure {number}: {(make.__doc__ or '').strip()}"
        if number == 15 and options.backend == "cpu" and len(options.only) > 1:
            print(f"{title} Left out: it needs a GPU.")
            continue
        print(title, flush=True)
        table = make()
        report.add(f"figure_{number}", title, table, summarize(table), number)
    print(f"figures, tables and tables.md in {options.out}")


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once the figures are made."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--edges", type=experiments.parse_number, help="of the largest graphs")
    parser.add_argument(
        "--only", type=parse_figures, default=parse_figures(""), help="figures, as 3,7"
    )
    parser.add_argument("--backend", default="auto", help="auto, cpu or gpu")
    parser.add_argument(
        "--repeats", type=int, default=5, help="report the median of this many runs"
    )
    parser.add_argument("--scheduler", help="the address of a Dask cluster, for figure 16")
    parser.add_argument("--workers", type=int, help="the workers of a local cluster instead")
    options = parser.parse_args(argv)
    try:
        make_figures(options)
    except mgraph.MgraphError as error:
        print(f"cuppa_experiments: {error}", file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"cuppa_experiments: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
