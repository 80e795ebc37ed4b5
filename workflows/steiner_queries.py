"""Steiner trees of many queries: write the trees, and a table of costs, gaps and times by k.

    python workflows/steiner_queries.py GRAPH OUT --sample 2:10,4:10,8:10 [--improve]

Terminals are drawn at random, or read from a file with one query per line (--queries). OUT/trees
holds the trees as Parquet (query, src, dst, weight) and a table of all queries, OUT/summary.txt the
printed summary.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

import mgraph
from mgraph import experiments


def parse_pairs(text: str) -> list[tuple[int, int]]:
    """Parse ``K:COUNT,K:COUNT`` into pairs."""
    try:
        return [(int(k), int(count)) for k, count in (pair.split(":") for pair in text.split(","))]
    except ValueError:
        message = f"must be K:COUNT,K:COUNT, such as 2:10,4:10 (got {text!r})"
        raise argparse.ArgumentTypeError(message) from None


def summarize(table: pd.DataFrame) -> pd.DataFrame:
    """Return by k: queries, those without a tree, mean cost, gap, searches, milliseconds."""
    seconds = table.filter(like="seconds_").sum(axis=1)
    table = table.assign(unsolved=table["error"].notna(), milliseconds=1000 * seconds)
    columns = {"query": "count", "unsolved": "sum"} | dict.fromkeys(
        ("cost", "gap", "searches", "accepted", "milliseconds"), "mean"
    )
    return table.groupby("k").agg(columns).rename(columns={"query": "queries"})


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 if every query has a tree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="a dataset or a graph file")
    parser.add_argument("out", type=Path)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--sample", type=parse_pairs, help="K:COUNT,…: random queries of K terminals"
    )
    group.add_argument("--queries", help="a text file with the terminals of one query per line")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--improve", action="store_true", help="improve STAR's trees by local search"
    )
    parser.add_argument("--scheduler", help="address of a running Dask scheduler")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--overwrite", action="store_true")
    options = parser.parse_args(argv)

    try:
        experiments.check_file(options.out / "summary.txt", overwrite=True)
        queries = (
            None
            if options.queries is None
            else experiments.read_vertex_lists(options.queries, "queries")
        )
        connected = mgraph.connect(
            scheduler=options.scheduler, backend=options.backend, threaded=True
        )
        with connected as cluster:
            run = mgraph.steiner_many(
                options.graph,
                queries,
                options.out / "trees",
                sample=options.sample,
                seed=options.seed,
                improve=options.improve,
                bound=True,
                resume=options.resume,
                overwrite=options.overwrite,
                cluster=cluster,
            )
    except mgraph.MgraphError as error:
        print(f"steiner_queries: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("steiner_queries: interrupted; --resume goes on from here", file=sys.stderr)
        return 130
    table = summarize(pd.read_parquet(options.out / "trees" / "_queries.parquet"))
    text = table.to_string(float_format=lambda value: f"{value:,.6g}")
    with experiments.writing_file(options.out / "summary.txt") as file:
        file.write(f"{text}\n".encode())
    print(text)
    failed = sum(answer.error is not None for answer in run.answers)
    print(f"{len(run.answers)} queries, {failed} without a tree, in {options.out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
