"""The time, power and energy of a shortest-path query, over set-points and fixed deltas.

    python workflows/sssp_energy.py GRAPH OUT --source 1 [--seconds 3] [--clocks 1200/2619]

It repeats one query, one at a time, for some seconds at each set-point P of self_tuning and each
delta of near_far, and reads the GPU's energy counter and clocks around it: first at the clocks that
the GPU chooses, then at each of ``--clocks`` (MHz of the cores and of the memory), which only some
users may set. It draws speed-up against relative power (the baseline is near_far at the fastest of
its deltas), power, energy and the energy-delay product against P. Without an energy counter it
draws time alone, as PNG and SVG. The table is in OUT/energy.parquet, and with what stands out of it
in OUT/energy.json.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import pandas as pd

import mgraph
from mgraph import experiments

DISTANCE_BYTES = 1 << 30  # of the distances kept at a time


def parse_numbers(text: str) -> list[float]:
    """Parse ``1,2.5,1e4`` into numbers."""
    return [float(word.replace("_", "")) for word in text.split(",")]


def measure(graph, options, has_meter, clocks, method, **setting):
    """Repeat a query for some seconds; return an ``experiments.Measured``. clocks: those held."""
    count = max(1, min(64, DISTANCE_BYTES // (8 * graph.n))) if graph.backend == "gpu" else 1

    def search() -> None:
        paths = mgraph.sssp(
            graph, [options.source] * count, method=method, backend=options.backend, concurrency=1,
            **setting,
        )  # fmt: skip
        first = paths.distance.reshape(count, -1)[0, options.source]
        assert first.item() == 0  # waits for the device

    took = []

    def repeat(watch) -> int:
        while not took or time.perf_counter() - began < options.seconds:
            start = time.perf_counter()
            search()
            took.append(1000 * (time.perf_counter() - start) / count)
            watch()
        return count * len(took)

    search()
    (value,) = setting.values()
    began = time.perf_counter()
    if not has_meter:
        queries = repeat(lambda: None)
        return experiments.Measured(
            method, value, 1000 * (time.perf_counter() - began) / queries, **quartiles(took)
        )
    seen = []
    with experiments.EnergyMeter() as meter:
        queries = repeat(lambda: seen.append(experiments.read_clocks()))
    core, memory = (sum(column) / len(seen) for column in zip(*seen, strict=True))
    return experiments.Measured(
        method, value, 1000 * meter.seconds / queries, meter.joules / queries, meter.watts,
        "" if clocks is None else str(clocks), core, memory, **quartiles(took),
    )  # fmt: skip


def quartiles(took):
    """Return the quartiles of some times, as ``experiments.Measured`` has them."""
    low, _, high = statistics.quantiles(took, n=4) if len(took) > 1 else took * 3
    return {"low": low, "high": high}


def measure_all(graph, options, has_meter):
    """Measure every setting at every permitted pair of clocks; print each."""
    unit = 32 * graph.mean_weight * graph.n / max(graph.num_arcs, 1)
    settings = [("near_far", {"delta": d * unit}) for d in options.deltas]
    settings += [("self_tuning", {"set_point": p}) for p in options.set_points]
    measured = []
    for clocks in [None, *options.clocks]:
        if clocks is not None and not has_meter:
            print(f"left out: {clocks} MHz, since no power is measured")
            continue
        try:
            with experiments.locked_clocks(clocks):
                for method, setting in settings:
                    one = measure(graph, options, has_meter, clocks, method, **setting)
                    measured.append(one)
                    print(describe(one))
        except mgraph.DeviceError as error:
            if clocks is None:
                raise
            print(f"left out: {clocks} MHz: {error}")
    return measured


def describe(one) -> str:
    """Describe a measurement in a line."""
    line = f"{one.method} {one.setting:,.6g}: {one.milliseconds:.4g} ms per query"
    if one.joules is None:
        return line
    line += f", {one.joules:.4g} J, {one.watts:.0f} W, {one.energy_delay:.4g} J s"
    held = f", held at {one.clocks}" if one.clocks else ""
    return f"{line}, at {one.core_mhz:.0f}/{one.memory_mhz:.0f} MHz{held}"


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once all is drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="a dataset or a graph file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=int, default=0)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--symmetrise", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0, help="minimum per setting")
    parser.add_argument(
        "--deltas", type=parse_numbers, default=[1 / 16, 1 / 4, 1, 4, 16, 64],
        help="times 32·w/d of the graph",
    )  # fmt: skip
    parser.add_argument("--set-points", type=parse_numbers, default=[1e4, 1e5, 1e6, 1e7])
    parser.add_argument("--clocks", default="", help="MHz of cores and memory: 1200/2619,1980/2619")
    options = parser.parse_args(argv)

    idle, has_meter = None, False
    try:
        options.clocks = [
            experiments.parse_clocks(word) for word in options.clocks.split(",") if word
        ]
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"sssp_energy: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    except mgraph.UsageError as error:
        print(f"sssp_energy: {error}", file=sys.stderr)
        return error.exit_status
    try:
        graph = mgraph.read_graph(
            options.graph, symmetrise=options.symmetrise, backend=options.backend
        )
        if graph.backend == "gpu":
            try:
                idle, has_meter = experiments.idle_watts(), True
                print(f"idle: {idle:.0f} W")
            except mgraph.DeviceError as error:
                print(f"time alone: {error}")
        else:
            print("time alone: energy is measured on a GPU, and the graph is on the CPU")
        measured = measure_all(graph, options, has_meter)
        table = {"graph": options.graph, "idle_watts": idle}
        title = Path(options.graph).name
        experiments.plot_time(measured, experiments.figure_files(options.out, "time"), title=title)
        if has_meter:
            tuned = [m for m in measured if m.method == "self_tuning"]
            least_joules = min(tuned, key=lambda m: m.joules)
            least_product = min(tuned, key=lambda m: m.energy_delay)
            table["least_joules"] = least_joules._asdict()
            table["least_energy_delay"] = least_product._asdict()
            print(f"least joules at P = {least_joules.setting:,.6g}, least energy-delay product "
                  f"at P = {least_product.setting:,.6g}")  # fmt: skip
            experiments.plot_speedup_against_power(
                measured, experiments.figure_files(options.out, "speedup"), title=title
            )
            experiments.plot_power_against_set_point(
                measured, experiments.figure_files(options.out, "power"), idle=idle, title=title
            )
            experiments.plot_energy_against_set_point(
                measured, experiments.figure_files(options.out, "energy"), title=title
            )
        table["rows"] = [one._asdict() for one in measured]
        pd.DataFrame(table["rows"]).to_parquet(options.out / "energy.parquet")
        (options.out / "energy.json").write_text(json.dumps(table, indent=1) + "\n")
    except mgraph.MgraphError as error:
        print(f"sssp_energy: {error}", file=sys.stderr)
        return error.exit_status
    print(f"table and plots in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
