"""How many vertices have another degree where copies are followed: generators/BENCHMARKS.md.

    python -m tests.benchmarks.copy_degrees [--n 3_000_000]

The share of vertices that would have to change their degree for two graphs' degree distributions to
be equal: of cuppa_hash's edges and copy's, and of copy's by two seeds.
"""

import argparse

import numpy as np

from mgraph import CopyModel, degree_histogram, edges


def distribution(n, d, p, method, seed):
    made = edges(CopyModel(n, d, p, seed, method), backend="cpu").edges
    degree, count = degree_histogram(made, n)
    return np.bincount(degree, weights=count) / n


def apart(ours, theirs):
    """The total variation distance."""
    size = max(ours.size, theirs.size)
    ours, theirs = (np.pad(x, (0, size - x.size)) for x in (ours, theirs))
    return np.abs(ours - theirs).sum() / 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=3_000_000)
    n = parser.parse_args().n
    for p in (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75):
        for d in (1, 4, 16):
            exact = distribution(n, d, p, "copy", 1)
            followed = apart(exact, distribution(n, d, p, "cuppa_hash", 2))
            chance = apart(exact, distribution(n, d, p, "copy", 2))
            print(f"p {p:<6} d {d:>2}: {followed:.4f} ({chance:.4f})", flush=True)


if __name__ == "__main__":
    main()
