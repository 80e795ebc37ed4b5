"""The time and energy of a shortest-path query, over set-points and fixed deltas.

    python workflows/sssp_energy.py GRAPH OUT --source 1 [--seconds 3]

It repeats one query, one at a time, for some seconds at each set-point P of self_tuning and each
delta of near_far, reads the GPU's energy counter around it, and draws speed-up against relative
power (the baseline is near_far at the fastest of its deltas) and power against P. Without such a
counter it draws time alone. The table is in OUT/energy.json.
"""

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path

import mgraph
from mgraph import experiments

DISTANCE_BYTES = 1 << 30  # of the distances kept at a time


def parse_numbers(text: str) -> list[float]:
    """Parse ``1,2.5,1e4`` into numbers."""
    return [float(word.replace("_", "")) for word in text.split(",")]


def measure(graph, source, backend, seconds, meter, method, **setting):
    """Repeat a query for some seconds; return an ``experiments.Measured``."""
    count = max(1, min(64, DISTANCE_BYTES // (8 * graph.n))) if graph.backend == "gpu" else 1

    def search() -> None:
        paths = mgraph.sssp(
            graph, [source] * count, method=method, backend=backend, concurrency=1, **setting
        )
        assert paths.distance.reshape(count, -1)[0, source].item() == 0  # waits for the device

    search()
    queries, began = 0, time.perf_counter()
    with meter or contextlib.nullcontext():
        while queries == 0 or time.perf_counter() - began < seconds:
            search()
            queries += count
    passed, (value,) = time.perf_counter() - began, setting.values()
    energy = (meter.joules / queries, meter.watts) if meter else ()
    return experiments.Measured(method, value, 1000 * passed / queries, *energy)


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
    options = parser.parse_args(argv)

    measured, idle, meter = [], None, None
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"sssp_energy: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    try:
        graph = mgraph.read_graph(
            options.graph, symmetrise=options.symmetrise, backend=options.backend
        )
        if graph.backend == "gpu":
            try:
                meter, idle = experiments.EnergyMeter(), experiments.idle_watts()
                print(f"idle: {idle:.0f} W")
            except mgraph.DeviceError as error:
                print(f"time alone: {error}")
        else:
            print("time alone: energy is measured on a GPU, and the graph is on the CPU")
        unit = 32 * graph.mean_weight * graph.n / max(graph.num_arcs, 1)
        settings = [("near_far", {"delta": d * unit}) for d in options.deltas]
        settings += [("self_tuning", {"set_point": p}) for p in options.set_points]
        arguments = (graph, options.source, options.backend, options.seconds, meter)
        for method, setting in settings:
            measurement = measure(*arguments, method, **setting)
            measured.append(measurement)
            energy = f", {measurement.joules:.4g} J, {measurement.watts:.0f} W" if meter else ""
            print(
                f"{method} {measurement.setting:,.6g}: "
                f"{measurement.milliseconds:.4g} ms per query{energy}"
            )
        rows = [measurement._asdict() for measurement in measured]
        table = {"graph": options.graph, "idle_watts": idle, "rows": rows}
        (options.out / "energy.json").write_text(json.dumps(table, indent=1) + "\n")
        title = Path(options.graph).name
        experiments.plot_time(measured, options.out / "time.png", title=title)
        if meter:
            experiments.plot_speedup_against_power(
                measured, options.out / "speedup.png", title=title
            )
            experiments.plot_power_against_set_point(
                measured, options.out / "power.png", idle=idle, title=title
            )
    except mgraph.MgraphError as error:
        print(f"sssp_energy: {error}", file=sys.stderr)
        return error.exit_status
    print(f"table and plots in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
