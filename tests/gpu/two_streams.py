"""A program: two threads, each with a stream of its own, search on one GPU at once, repeatedly.

Each must get the answer that it gets alone. One that waits for ever is ended, with its traceback.
"""

import faulthandler
import threading

import numpy as np

import mgraph

METHODS = "near_far", "self_tuning", "frontier_node"
PAIRS = (
    ("near_far", "near_far"),
    ("self_tuning", "frontier_node"),
    ("forest", "near_far"),
    ("forest", "forest"),
    ("tree", "self_tuning"),
    ("tree", "tree"),
    ("tree", "forest"),
)
REPEATS, SECONDS = 30, 120


def tasks_on(graph):
    """What there is to do on a graph, by name; each returns an array."""
    terminals = np.random.default_rng(1).choice(graph.n, 8, replace=False)

    def search(method):
        return mgraph.sssp(graph, 7, method=method, backend="gpu").distance.get()

    def forest():
        return mgraph.minimum_spanning_forest(graph, backend="gpu").edge_id.get()

    def tree():
        found = mgraph.steiner_tree(graph, terminals, method="star", backend="gpu")
        return np.stack([found.src, found.dst])

    return {name: lambda name=name: search(name) for name in METHODS} | {
        "forest": forest,
        "tree": tree,
    }


def run_together(tasks):
    """Run two tasks at once in two streams, and compare what comes with what each gives alone."""
    import cupy

    alone = [task() for task in tasks]
    begin, wrong = threading.Barrier(2), []

    def repeat(task, expected):
        try:
            with cupy.cuda.Stream(non_blocking=True):
                begin.wait()
                for _ in range(REPEATS):
                    np.testing.assert_array_equal(task(), expected)
        except BaseException as error:
            wrong.append(error)

    pairs = zip(tasks, alone, strict=True)
    threads = [threading.Thread(target=repeat, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def main():
    edges = mgraph.CopyModel(50_000, 4, weights=(1, 100)).edges(backend="gpu").edges
    tasks = tasks_on(mgraph.from_edges(edges, directed=False, backend="gpu"))
    for name in tasks:
        print(name, flush=True)
        tasks[name]()  # compiles
    for pair in PAIRS:
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        run_together([tasks[name] for name in pair])
        faulthandler.cancel_dump_traceback_later()
        print(*pair, "ok", flush=True)


if __name__ == "__main__":
    main()
