"""Improved Steiner trees of instances that are hard or large: costs, bounds and gaps.

    python -m tests.benchmarks.steiner_hard [NAME …] [--large] [--seconds 30] [--backend gpu]
        [--known FILE]

NAME: of ``steiner_instances``, or a folder of SteinLib files; by default the set of hard instances,
or with --large that of large ones. FILE: the costs of known trees, "NAME COST" per line, with which
trees are compared; lower costs are written back.
"""

import argparse
import pathlib
import time

import mgraph
from tests.benchmarks import steiner_instances


def read_known(path):
    if path is None or not path.exists():
        return {}
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    return {name: int(cost) for name, cost in lines}


def expand(names):
    """Return the names, with the files of a folder in its place."""
    files = {name: sorted(map(str, pathlib.Path(name).rglob("*.stp"))) for name in names}
    return [each for name in names for each in files[name] or [name]]


def make(name):
    """Return the graph and the terminals of an instance."""
    if name.endswith(".stp"):
        return mgraph.experiments.read_steinlib(name, backend="cpu")[:2]
    return steiner_instances.make(name)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--backend", choices=["cpu", "gpu"], default="cpu")
    parser.add_argument("--known", type=pathlib.Path)
    options = parser.parse_args(arguments)
    known, above, gaps, rehearsed = read_known(options.known), [], [], False
    default = steiner_instances.LARGE if options.large else steiner_instances.HARD
    for name in expand(options.names) or default:
        graph, terminals = make(name)
        how = {"improve": True, "backend": options.backend}
        if not rehearsed:  # so that all is compiled
            mgraph.steiner_tree(graph, terminals, time_limit=2, **how)
            rehearsed = True
        start = time.process_time(), time.perf_counter()
        tree = mgraph.steiner_tree(graph, terminals, time_limit=options.seconds, **how)
        core, elapsed = time.process_time() - start[0], time.perf_counter() - start[1]
        best = min(known.get(name, tree.cost), tree.cost)
        above.append(tree.cost / known.get(name, tree.cost) - 1)
        gaps.append(tree.gap)
        known[name] = best
        print(
            f"{name}: {graph.n:,} vertices, {graph.num_edges:,} edges, {terminals.size:,} "
            f"terminals: cost {tree.cost:,} ({above[-1]:+.2%}), bound {tree.lower_bound:,}, gap "
            f"{tree.gap:.2%}; {elapsed:.1f} s, {core:.1f} s of processor time",
            flush=True,
        )
    proved = sum(gap == 0 for gap in gaps)
    print(
        f"{len(gaps)} trees, {proved} proved optimal: {sum(above) / len(above):.3%} above those "
        f"that are known on average, gaps {sum(gaps) / len(gaps):.2%} on average, {max(gaps):.2%} "
        "at most"
    )
    if options.known is not None:
        lines = [f"{name} {cost}\n" for name, cost in sorted(known.items())]
        options.known.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(None)
