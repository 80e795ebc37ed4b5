"""Where one search is fastest: a core, a GPU, or what `auto` chooses, by the graph's shape.

    python -m tests.benchmarks.sssp_shapes 5 6 7          of 10^5, 10^6 and 10^7 vertices
    python -m tests.benchmarks.sssp_shapes 6 --graph MAKER road-NE

Prints milliseconds, medians of warm searches after synchronising: one core, the GPU with the graph
in its memory, `auto` with the graph there, and `auto` with the graph on the CPU, which the GPU's
time with the copy is for. Then what `auto` takes beyond the faster side.
"""

import argparse
import statistics
import time

import numpy as np

import mgraph
from mgraph.core.edges import EdgeList
from tests.benchmarks.makers import made
from tests.benchmarks.tiny import add_option, apply, small

REPEATS = 5


def path(n, random):
    return np.arange(1, n), np.arange(n - 1)


def tree(n, random):
    vertices = np.arange(1, n)
    return vertices, (random.random(n - 1) * vertices).astype(np.int64)


def binary_tree(n, random):
    return np.arange(1, n), (np.arange(1, n) - 1) // 2


def star(n, random):
    return np.arange(1, n), np.zeros(n - 1, np.int64)


def comb(n, random):
    """A path whose vertices each begin a path of the same length, about the square root of n."""
    tooth = int(n**0.5)
    vertices = np.arange(1, n)
    return vertices, np.where(vertices % tooth == 0, np.maximum(vertices - tooth, 0), vertices - 1)


def broom(n, random):
    """A star, and a path from one of its leaves, of half the vertices each."""
    vertices = np.arange(1, n)
    return vertices, np.where(vertices < n // 2, 0, vertices - 1)


def _grid(width):
    def grid(n, random):
        vertices = np.arange(n)
        right = vertices[vertices % width > 0]
        down = vertices[width:]
        return np.concatenate([right, down]), np.concatenate([right - 1, down - width])

    return grid


def random_graph(n, random):
    return random.integers(0, n, (2, 8 * n))


SHAPES = {
    "path": path, "random tree": tree, "binary tree": binary_tree, "star": star, "comb": comb,
    "star and path": broom, "grid 4 wide": _grid(4), "grid 16 wide": _grid(16),
    "grid 64 wide": _grid(64), "grid 256 wide": _grid(256), "grid 1024 wide": _grid(1024),
    "random, degree 16": random_graph,
}  # fmt: skip


def make(shape, n):
    """Return a graph of a shape on the CPU, with weights of 1 to 100."""
    random = np.random.default_rng(n)
    u, v = SHAPES[shape](n, random)
    weight = random.integers(1, 101, len(u)).astype(np.int32)
    edges = EdgeList(u.astype(np.int32), v.astype(np.int32), weight)
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


def median_ms(graph, source, **options):
    import cupy

    seconds = []
    while len(seconds) <= REPEATS and sum(seconds) < small(6):
        began = time.perf_counter()
        paths = mgraph.sssp(graph, source, **options)
        cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - began)
    return 1e3 * statistics.median(seconds[1:] or seconds), paths


def compare(name, graph, source):
    on_gpu = graph.to_gpu()
    core, expected = median_ms(graph, source, backend="cpu")
    gpu, _ = median_ms(on_gpu, source, backend="gpu")
    copied, _ = median_ms(graph, source, backend="gpu")
    there, found = median_ms(on_gpu, source)
    here, also = median_ms(graph, source)
    for paths in (found, also):
        assert (paths.to_cpu().distance == expected.distance).all()
    columns = (core, gpu, there, there / min(core, gpu), copied, here, here / min(core, copied))
    figures = " ".join(f"{column:9.2f}" for column in columns)
    print(f"{name:18s} {graph.n:11,d} {figures}  {found.backend}, {also.backend}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exponents", nargs="*", type=int)
    parser.add_argument("--graph", nargs=2, action="append", default=[])
    add_option(parser)
    arguments = apply(parser.parse_args())
    names = ("vertices", "core", "GPU", "auto", "ratio", "copied", "auto", "ratio")
    print(f"{'shape':18s}   " + " ".join(f"{name:>9s}" for name in names), flush=True)
    for exponent in arguments.exponents:
        for shape in SHAPES:
            compare(shape, make(shape, small(10**exponent, 2000)), 0)
    for maker, name in arguments.graph:
        compare(name, *made(maker, name, "cpu"))


if __name__ == "__main__":
    main()
