"""The self-tuning controller of the paper to the letter, and what mgraph's does otherwise.

    python workflows/sssp_controllers.py GRAPH OUT --source 1 [--set-point 10_000]

One search with the paper's controller, one with each of mgraph's changes alone, with all of them,
and with mgraph's own: whether it ends, how often it expands a vertex, and how near X2 comes to P.
Writes the table as Parquet and Markdown into OUT. On a GPU a search may take 400,000 iterations, on
a CPU 20,000; ``--max-iterations`` says otherwise.
"""

import argparse
import sys
from pathlib import Path

import mgraph
from mgraph import experiments

MAX_ITERATIONS = {"gpu": 400_000, "cpu": 20_000}


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once the table is written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="a dataset or a graph file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=int, default=0)
    parser.add_argument("--set-point", type=experiments.parse_number, default=10_000)
    parser.add_argument("--max-iterations", type=experiments.parse_number)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--symmetrise", action="store_true")
    options = parser.parse_args(argv)

    try:
        options.out.mkdir(parents=True, exist_ok=True)
        report = experiments.TableReport(options.out, "Controllers of self-tuning near-far")
        graph = mgraph.read_graph(
            options.graph, symmetrise=options.symmetrise, backend=options.backend
        )
        limit = options.max_iterations
        if limit is None:
            limit = MAX_ITERATIONS[graph.backend]
        table = experiments.compare_controllers(
            graph, options.source, options.set_point, max_iterations=limit
        )
        title = f"{Path(options.graph).name}, source {options.source}, P = {options.set_point:,}"
        report.add("controllers", title, table)
    except OSError as error:
        print(f"sssp_controllers: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    except mgraph.MgraphError as error:
        print(f"sssp_controllers: {error}", file=sys.stderr)
        return error.exit_status
    print(experiments.markdown_table(table), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
