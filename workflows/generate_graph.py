"""Generate a graph, check it, and draw its degree distribution: one job from start to finish.

    python workflows/generate_graph.py OUT -n 1_000_000 -d 8 [--scheduler ADDRESS] [--resume]

It writes the dataset into OUT/graph, the distribution into OUT/degrees.json and, with matplotlib,
the plot into OUT/degrees.png. Start from this file for jobs of your own: it uses ``mgraph`` alone.
"""

import argparse
import json
import sys
from pathlib import Path

import mgraph
from mgraph import experiments


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 if the graph was made and every check holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("-n", type=experiments.parse_number, required=True)
    parser.add_argument("-d", type=int, default=8)
    parser.add_argument("-p", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scheduler", help="a running Dask scheduler; by default this machine")
    parser.add_argument("--workers", type=int)
    parser.add_argument(
        "--regenerate", type=float, default=0.1, help="the share of the parts to generate again"
    )
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args(argv)

    graph = options.out / "graph"
    try:
        model = mgraph.CopyModel(options.n, options.d, options.p, options.seed)
        with mgraph.connect(
            scheduler=options.scheduler, workers=options.workers, announce=sys.stderr
        ) as cluster:
            made = mgraph.generate(graph, model, cluster=cluster, resume=options.resume)
            parts = len(made.manifest.parts)
            print(f"{made.manifest.num_edges:,} edges in {parts} part{'s' * (parts != 1)}")
            verdict = mgraph.verify(graph, regenerate=options.regenerate, cluster=cluster)
            degrees = mgraph.degrees(graph, cluster=cluster)
        (options.out / "degrees.json").write_text(json.dumps(degrees.to_json()))
        for fault in verdict.faults:
            print(f"generate_graph: {fault}", file=sys.stderr)
        try:
            degrees.plot(options.out / "degrees.png")
        except mgraph.UsageError as error:  # no matplotlib: the graph is complete without it
            print(f"generate_graph: no degrees.png, since {error}", file=sys.stderr)
    except mgraph.MgraphError as error:
        print(f"generate_graph: {error}", file=sys.stderr)
        return error.exit_status

    law = degrees.power_law
    if law:
        print(f"tail exponent {law.exponent:.3f} ± {law.standard_error:.3f}")
    print(f"{'all checks hold' if verdict.ok else 'checks failed'}; see {options.out}")
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main())
