"""Figures of cuPPA on a GPU, for generators/BENCHMARKS.md.

    python -m tests.benchmarks.cuppa_gpu bars        n = 5e8, d = 4, by p; dynamic, fixed
    python -m tests.benchmarks.cuppa_gpu schedules   n = 5e8, d = 4: partitions, C, f, threads
    python -m tests.benchmarks.cuppa_gpu hard        p near 0, d up to 4096, memory nearly full
    python -m tests.benchmarks.cuppa_gpu linear      time against n and d, and its log-log slope

Edges are kept in device memory. Medians of five by device events, warm. `hard` draws a sample of
rows again, and counts endpoints that differ from the exact model.
"""

import argparse
import statistics

import numpy as np

from mgraph import CopyModel
from mgraph.cuda.memory import free_bytes
from mgraph.generators import cuppa_gpu, preferential_attachment_gpu
from tests.benchmarks.tiny import add_option, apply, small
from tests.gpu import certificate

REPEATS = 5
MEMORY_SHARE = 0.97  # of the free memory, for the largest graphs


def seconds(model, repeats=REPEATS, dst=None, **options):
    """Return the median seconds of a launch."""
    import cupy

    if dst is None:
        dst = preferential_attachment_gpu.generate_endpoints(model, model.n, **options)
    times = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        cuppa_gpu.fill(model, model.n, dst, **options)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(times)


def report(model, time, *notes):
    line = f"n {model.n:>13,} d {model.d:>4} p {model.p:<7g} {model.num_edges:>14,} edges "
    line += f"{time * 1e3:9.2f} ms {model.num_edges / time / 1e9:6.1f}e9/s"
    print(line, *notes, flush=True)


def exact(n, d, p=0.5):
    return CopyModel(small(n, 4 * d), d, p, method="cuppa")


def bars():
    for p in (0.5, 0.0, 1e-5, 0.01, 0.1, 0.9, 1.0):
        model = exact(500_000_000, 4, p)
        report(model, seconds(model), "dynamic")
    for n, d, p in [
        (500_000_000, 4, 0.5), (500_000_000, 1, 0.5), (62_500_000, 32, 0.5), (15_625_000, 64, 0.5),
        (7_812_500, 128, 0.5), (1_953_125, 512, 0.5), (976_562, 1024, 0.5), (125_000_000, 4, 0.0),
        (7_812_500, 128, 0.0), (1_000_000, 4, 0.5), (100_000, 8, 0.5),
    ]:  # fmt: skip
        model = exact(n, d, p)
        for segments in ("dynamic", "fixed"):
            rounds = []
            preferential_attachment_gpu.generate_endpoints(
                model, model.n, segments=segments, rounds=rounds
            )
            longest = max(round.longest for round in rounds)
            note = f"{segments}: {len(rounds)} rounds, at most {longest} in a queue"
            report(model, seconds(model, segments=segments), note)


def schedules():
    ways = [{"segments": "fixed", "places": places} for places in (768, 6144, 49_152, 393_216)]
    ways += [{"growth": growth} for growth in (2, 4, 8)]
    ways += [{"block_threads": threads} for threads in (64, 128, 256, 512, 1024)]
    ways = [{}, {"segments": "fixed", "block_threads": 512}, *ways]
    for p in (0.5, 0.0):
        model = exact(500_000_000 if p else 62_500_000, 4, p)
        for way in ways:
            for partition in ("round_robin", "consecutive"):
                options, rounds = {**way, "partition": partition}, []
                preferential_attachment_gpu.generate_endpoints(
                    model, model.n, rounds=rounds, **options
                )
                names = ", ".join(f"{key} {value}" for key, value in options.items())
                full = sum(round.overflows for round in rounds)
                note = f"{names}: {len(rounds)} rounds, {full:,} full queues"
                report(model, seconds(model, 3, **options), note)


def hard():
    import cupy

    for n, d, p in [
        (500_000_000, 4, 0.0), (500_000_000, 4, 1e-5), (31_250_000, 64, 0.0),
        (31_250_000, 64, 1e-5), (1_953_125, 1024, 0.0), (1_953_125, 1024, 1e-5),
        (0, 4, 0.5), (0, 4, 0.0), (0, 1024, 0.5), (0, 1024, 0.0), (250_000, 4096, 0.0),
    ]:  # fmt: skip
        cupy.get_default_memory_pool().free_all_blocks()
        free = int(free_bytes() * MEMORY_SHARE)
        if not n:
            n = free // (4 * d)
            n = n if n < 1 << 31 else free // (8 * d)
        model = exact(n, d, p)
        rounds = []
        dst = preferential_attachment_gpu.generate_endpoints(model, model.n, rounds=rounds)
        vertices = certificate.sample(model, small(1_000_000 // d, 10))
        wrong = certificate.wrong_endpoints(model, dst, vertices)
        share = model.num_edges * model.dtype.itemsize / (free / MEMORY_SHARE)
        time = seconds(model, 1 if model.num_edges > 1e10 else 3, dst)
        drawn = len(vertices) * d
        report(
            model,
            time,
            f"{model.dtype}, {share:.0%} of the memory; of {drawn:,} drawn again {wrong} wrong;",
            f"{sum(round.overflows for round in rounds):,} full queues",
        )
        del dst


def slope(x, y):
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def linear():
    sizes = [31_250_000, 62_500_000, 125_000_000, 250_000_000, 500_000_000]
    lines = [[exact(n, 4, p) for n in sizes] for p in (0.0, 0.001, 0.25, 0.5, 0.75, 1.0)]
    lines += [
        [exact(n, d) for n in (960_000, 1_920_000, 3_840_000, 7_680_000) if n * d > 9e7]
        for d in (16, 32, 64, 128)
    ]
    lines += [[exact(7_812_500, d, p) for d in (16, 32, 64, 128)] for p in (0.0, 0.001, 0.5, 1.0)]
    lines += [
        [exact(62_500_000, d, p) for d in (2, 4, 8, 16, 32, 64, 128, 256)] for p in (0.5, 1.0)
    ]
    lines += [[exact(500_000_000, d) for d in (1, 2, 4, 8, 16, 32)]]
    for models in lines:
        times = [seconds(model) for model in models]
        for model, time in zip(models, times, strict=True):
            report(model, time)
        if len(models) > 1:
            edges = [model.num_edges for model in models]
            print(f"  log-log slope against edges {slope(edges, times):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["bars", "schedules", "hard", "linear"])
    add_option(parser)
    globals()[apply(parser.parse_args()).what]()


if __name__ == "__main__":
    main()
