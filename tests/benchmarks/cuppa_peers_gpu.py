"""Figures of cuPPA over the GPUs of a host, which read each other's memory.

    python -m tests.benchmarks.cuppa_peers_gpu N D GPUS [--one-process]

Ranks are the workers of a cluster, or threads of one process. n vertices of d edges, p = 0.5,
edges kept in device memory. Seconds from the first rank's launch to the last one's end, warm, the
median of three. A sample of a million endpoints is drawn again.
"""

import argparse
import statistics
import time

import numpy as np

import mgraph
from mgraph import CopyModel
from mgraph.distributed.operations.ranks import ranks_of
from tests.gpu import certificate
from tests.partitioned.thread_exchange import run_ranks

REPEATS = 3


def measure(exchange, memory, argument, *, model):
    """Generate the graph; return the seconds of each run, endpoints drawn again, and wrong ones."""
    from mgraph.generators.cuppa_peers_gpu import PeerEndpoints

    share = PeerEndpoints(exchange, model)
    times = []
    for _ in range(REPEATS + 1):
        exchange.all_gather(np.zeros(1, np.uint8))
        began = time.perf_counter()
        share.generate(exchange, model)
        times.append(time.perf_counter() - began)
    vertices = certificate.sample(model, 1_000_000 // model.d, seed=exchange.rank)
    wrong = certificate.wrong_endpoints(model, share.endpoints, vertices)
    share.close(exchange)
    return times[1:], len(vertices) * model.d, wrong


def measure_workers(model, gpus):
    with (
        mgraph.connect(workers=gpus, backend="gpu", dashboard="127.0.0.1:0") as cluster,
        ranks_of(cluster) as ranks,
    ):
        sizes = [model.num_edges] * gpus
        return ranks.run(measure, sizes, verb="measure", sizes=sizes, by_nccl=False, model=model)


def measure_threads(model, gpus):
    import cupy

    def run(exchange):
        with cupy.cuda.Device(exchange.rank), cupy.cuda.Stream(non_blocking=True):
            return measure(exchange, {}, None, model=model)

    return run_ranks(gpus, run, at_once=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for number in ("n", "d", "gpus"):
        parser.add_argument(number, type=int)
    parser.add_argument("--one-process", action="store_true", help="threads in place of workers")
    options = parser.parse_args()
    model = CopyModel(options.n, options.d, method="cuppa")
    way = measure_threads if options.one_process else measure_workers
    found = way(model, options.gpus)
    seconds = statistics.median(map(max, zip(*(times for times, _, _ in found), strict=True)))
    print(
        f"{options.gpus} GPUs, n {model.n:,}, d {model.d}: {model.num_edges:,} edges in "
        f"{seconds:.3f} s, {model.num_edges / seconds / 1e9:.2f}e9/s; of "
        f"{sum(drawn for _, drawn, _ in found):,} endpoints drawn again "
        f"{sum(wrong for _, _, wrong in found)} wrong"
    )


if __name__ == "__main__":
    main()
