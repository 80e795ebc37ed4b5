"""NetworkX's functions by NetworkX and by backends: the table of docs/networkx.md.

    python -m tests.benchmarks.networkx_backend EDGES [--only NAME,…] [--repeats 3]

A random graph of 8 edges per node, weights 1 to 99. For each function the median milliseconds of
NetworkX; of nx-parallel and nx-cugraph, where they are installed and have the function, with
reading the graph; and of mgraph, with reading, and when an earlier call has read it. "auto" is a
call with backend_priority = ["mgraph"]. On a machine with a GPU mgraph takes it where it is faster.
"""

import argparse
import functools
import gc
import math
import statistics
import time

import networkx

from tests.networkx_backend.strategies import random_graph

OTHERS = "parallel", "cugraph"
ALL_PAIRS_NODES = 1500
SLOW_SECONDS = 5.0  # from which on one run is enough


def cases(graph):
    """Functions by name; each takes ``backend=``."""
    largest = sorted(max(networkx.connected_components(graph), key=len))
    terminals = largest[:: max(1, len(largest) // 10)][:10]
    source, target = terminals[0], terminals[-1]
    n = len(graph)

    def listed(function, *args, **kwargs):
        return list(function(*args, **kwargs))

    partial, nx = functools.partial, networkx
    all_pairs = {
        name: partial(listed, getattr(nx, name), graph)
        for name in ("all_pairs_dijkstra_path_length", "all_pairs_shortest_path_length")
        if n <= ALL_PAIRS_NODES
    }
    return {
        "minimum_spanning_tree": partial(nx.minimum_spanning_tree, graph),
        "minimum_spanning_edges": partial(listed, nx.minimum_spanning_edges, graph, data=False),
        "steiner_tree, 10 terminals": partial(nx.approximation.steiner_tree, graph, terminals),
        "single_source_dijkstra": partial(nx.single_source_dijkstra, graph, source),
        "single_source_dijkstra_path_length": partial(
            nx.single_source_dijkstra_path_length, graph, source
        ),
        "dijkstra_path": partial(nx.dijkstra_path, graph, source, target),
        "multi_source_dijkstra_path_length": partial(
            nx.multi_source_dijkstra_path_length, graph, terminals
        ),
        "bidirectional_dijkstra": partial(nx.bidirectional_dijkstra, graph, source, target),
        "single_source_shortest_path": partial(nx.single_source_shortest_path, graph, source),
        "single_source_shortest_path_length": partial(
            nx.single_source_shortest_path_length, graph, source
        ),
        "bidirectional_shortest_path": partial(
            nx.bidirectional_shortest_path, graph, source, target
        ),
        "bfs_edges": partial(listed, nx.bfs_edges, graph, source),
        "bfs_tree": partial(nx.bfs_tree, graph, source),
        "connected_components": partial(listed, nx.connected_components, graph),
        "is_connected": partial(nx.is_connected, graph),
        "is_forest": partial(nx.is_forest, graph),
        "barabasi_albert_graph": partial(nx.barabasi_albert_graph, n, min(8, n - 1), seed=1),
        **all_pairs,
    }


def milliseconds(call, repeats, before=lambda: None):
    """The median of the runs; NaN where it fails, as NetworkX's Steiner trees sometimes do."""
    times = []
    for _ in range(repeats):
        before()
        gc.collect()
        began = time.perf_counter()
        try:
            result = call()
        except KeyError:  # a node that no terminal is connected to
            return float("nan")
        times.append(time.perf_counter() - began)
        del result
        if times[-1] > SLOW_SECONDS:
            break
    return 1000 * statistics.median(times)


def to_text(time):
    """A cell of the table."""
    return "" if math.isnan(time) else f"{time:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("edges", type=float)
    parser.add_argument("--only", default="", help="names of functions")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    networkx.config.warnings_to_ignore.add("cache")
    edges = int(options.edges)
    graph = random_graph(max(8, edges // 8), edges)
    only = set(filter(None, options.only.split(",")))
    others = [name for name in OTHERS if name in networkx.utils.backends.backends]
    print(f"{graph}")
    columns = ["NetworkX", *others, "mgraph, read", "mgraph, known", "auto"]
    print("| function |", " | ".join(columns), "| times, read | times, known |")
    print("|---|" + "---|" * (len(columns) + 2))
    clear = graph.__networkx_cache__.clear

    for name, call in cases(graph).items():
        if only and name.partition(",")[0] not in only:
            continue
        milliseconds(functools.partial(call, backend="mgraph"), 1)  # compiles
        times = [milliseconds(functools.partial(call, backend="networkx"), options.repeats)]
        for other in others:
            known = networkx.utils.backends.backend_info[other]["functions"]
            own = functools.partial(call, backend=other)
            times.append(
                milliseconds(own, options.repeats, clear)
                if name.partition(",")[0] in known
                else float("nan")
            )
        ours = functools.partial(call, backend="mgraph")
        times.append(milliseconds(ours, options.repeats, clear))
        times.append(milliseconds(ours, options.repeats))
        with networkx.config.backend_priority(algos=["mgraph"], generators=["mgraph"]):
            times.append(milliseconds(call, options.repeats, clear))
        gains = [f"{times[0] / each:.3g}" for each in times[-3:-1]]
        print(f"| `{name}` |", " | ".join(map(to_text, times)), end=" | ")
        print(" | ".join(gains), "|", flush=True)


if __name__ == "__main__":
    main()
