"""The bias of cuppa_hash's hubs against the exact copy model, for generators/BENCHMARKS.md.

    python -m tests.benchmarks.hubs [--n 200_000] [--seeds 40] [--core ENDPOINTS]

For each d and p, over the seeds: the largest degree, the mean degree of the first d vertices, of
vertices d to 3d, and the 99.99th percentile of the degrees; first the exact model's means, then the
difference of cuppa_hash's in per cent, and in standard errors of the difference of two such means.
Both models have the same seeds, so the difference itself is known more precisely than that.
--core replaces the size of the exact core; 0 is the paper's method, without a core.
"""

import argparse
import contextlib
from unittest import mock

import numpy as np

from mgraph import CopyModel
from mgraph.generators import copy_model
from tests.oracles import hubs

DS, PS = (1, 4, 8, 16), (0.1, 0.25, 0.5, 0.75)


def hubs_by_seed(method, n, d, p, seeds, backend="cpu", start="paper"):
    """Return the statistics of the hubs for each seed, shape (seeds, 4)."""
    rows = []
    for seed in range(seeds):
        edges = CopyModel(n, d, p, seed, method, start=start).edges(backend=backend).edges
        rows.append(hubs(edges.dst if backend == "cpu" else edges.dst.get(), n, d))
    return np.array(rows)


def compare_hubs(ours, exact):
    """Return the mean difference in per cent of the exact mean, and in standard errors."""
    difference = (ours - exact).mean(axis=0)
    error = np.sqrt((ours.var(axis=0, ddof=1) + exact.var(axis=0, ddof=1)) / len(exact))
    shares = 100 * difference / exact.mean(axis=0)
    return shares, np.divide(difference, error, out=np.zeros(4), where=error > 0)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--core", type=int)
    parser.add_argument("-d", type=int, nargs="+", default=DS)
    parser.add_argument("-p", type=float, nargs="+", default=PS)
    parser.add_argument("--backend", default="cpu", choices=["cpu", "gpu"])
    options = parser.parse_args(argv)
    with contextlib.ExitStack() as stack:
        if options.core is not None:
            core = dict.fromkeys(("CORE_ENDPOINTS", "SMALL_CORE_ENDPOINTS"), options.core)
            stack.enter_context(mock.patch.multiple(copy_model, **core))
        compare(options)


def compare(options):
    """Print how the hubs of cuppa_hash differ from those of the exact model."""
    exact_method = "copy" if options.backend == "cpu" else "cuppa"
    print(
        "exact means | difference, per cent | in standard errors: largest, first d, to 3d, 99.99 %"
    )
    for d in options.d:
        for p in options.p:
            case = (options.n, d, p, options.seeds, options.backend)
            exact, ours = hubs_by_seed(exact_method, *case), hubs_by_seed("cuppa_hash", *case)
            shares, errors = compare_hubs(ours, exact)
            core = CopyModel(options.n, d, p).core_vertices
            print(
                f"d {d:>4} p {p:<5} core {core:>9,} | "
                + " ".join(f"{x:9.1f}" for x in exact.mean(axis=0))
                + " | "
                + " ".join(f"{x:6.2f}" for x in shares)
                + " | "
                + " ".join(f"{x:5.2f}" for x in errors),
                flush=True,
            )


if __name__ == "__main__":
    main()
