"""Figures of the GPU generator, for generators/BENCHMARKS.md.

    python -m tests.benchmarks.generate_gpu memory             edges kept in device memory, one GPU
    python -m tests.benchmarks.generate_gpu parquet FOLDER     end to end, against PyArrow alone
    python -m tests.benchmarks.generate_gpu parquet FOLDER GPUS    the same, 10^10 edges
    python -m tests.benchmarks.generate_gpu scaling GPUS       16e9 edges over 1, 2, … GPUS GPUs
    python -m tests.benchmarks.generate_gpu blocks GPUS        10^12 edges, made block by block

Times are medians of seven, warm, by device events (memory), or by the host's clock after
synchronising (parquet, scaling, blocks). blocks: 64-bit endpoints in device memory, their checksum,
and dropped; one GPU makes a sample of the blocks again, and must find the same checksums.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.distributed.operations.generate_plan import choose_block_edges, choose_part_count
from mgraph.generators import preferential_attachment
from mgraph.io.folder import Folder
from mgraph.io.parquet import writing_part
from tests.benchmarks.tiny import add_option, apply, small

REPEATS = 7
BLOCKS = 512  # that 10^12 edges are made in


def device_seconds(model, part, with_src=False):
    """Return the median seconds to write a part's edges to a device array, and their number."""
    import cupy

    from mgraph.generators import cuppa_hash_gpu, preferential_attachment_gpu

    dst = preferential_attachment_gpu.empty_ids(model, part)
    src = preferential_attachment_gpu.empty_ids(model, part) if with_src else None
    checksum = cupy.zeros(1, np.uint64)
    times = []
    for _ in range(REPEATS + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        cuppa_hash_gpu.fill(model, part, src, dst, checksum)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(times[1:]), dst.size


def memory():
    half_billion = small(500_000_000)
    cases = [
        *((CopyModel(half_billion, 4, p), None) for p in (0.5, 0.01, 0.1, 0.25, 0.9, 1.0)),
        (CopyModel(half_billion, 1), None),
        (CopyModel(half_billion // 2, 8), None),
        (CopyModel(small(300_000_000), 7), None),
        (CopyModel(half_billion // 8, 32), None),
        (CopyModel(small(10_000_000), 33), None),
        (CopyModel(small(1_000_000, 3000), 1000), None),
        (CopyModel(small(10_000_000), 8, 0.0), None),
        (CopyModel(1 << 33, 4), range(1 << 32, (1 << 32) + half_billion)),
    ]
    for model, part in cases:
        for with_src in (False, True) if (model.d, model.p) == (4, 0.5) else (False,):
            seconds, edges = device_seconds(model, part or range(model.n), with_src)
            ids = f"{model.dtype} {'src and dst' if with_src else 'dst'}"
            print(
                f"n {model.n:>13,} d {model.d:>4} p {model.p:<4} {ids:17s} "
                f"{edges:>13,} edges {seconds * 1e3:8.2f} ms {edges / seconds / 1e9:7.1f}e9/s",
                flush=True,
            )


@contextlib.contextmanager
def peak_memory():
    """Track the maximum resident memory of this process's children; yields {"bytes": maximum}."""
    import psutil

    peak, stopped = {"bytes": 0}, threading.Event()

    def follow():
        while not stopped.wait(0.02):
            total = 0
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
            peak["bytes"] = max(peak["bytes"], total)

    thread = threading.Thread(target=follow)
    thread.start()
    yield peak
    stopped.set()
    thread.join()


def in_host_memory(model):
    """Return all edges as NumPy arrays."""
    src, dst = np.empty(model.num_edges, model.dtype), np.empty(model.num_edges, model.dtype)

    def copy(part):
        row = model.edges_before(part.start)
        for block in preferential_attachment.stream(model, part, backend="gpu"):
            rows = slice(row, row + block.edges.src.size)
            src[rows], dst[rows] = block.edges
            row = rows.stop

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(copy, model.split(64)))
    return EdgeList(src, dst)


def pyarrow_seconds(model, edges, parts, folder, threads, block_edges):
    """Return the seconds in which PyArrow threads write the parts from arrays in host memory."""
    target = Folder(folder)
    target.create()

    def write(index):
        part = model.part(index, parts)
        with writing_part(target, f"part-{index:05d}.parquet", model.columns, "lz4") as writer:
            for block in model.blocks(part, block_edges):
                rows = slice(model.edges_before(block.start), model.edges_before(block.stop))
                writer.write(EdgeList(edges.src[rows], edges.dst[rows]))
            writer.close({})

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(write, range(parts)))
    return time.perf_counter() - began


def parquet(folder, gpus=None):
    """gpus: None for one and a graph of 2e9 edges."""
    repeats = REPEATS + 2 if gpus is None else 3
    model = CopyModel(small(500_000_000), 4) if gpus is None else CopyModel(small(1_250_000_000), 8)
    threads = len(os.sched_getaffinity(0))
    out = os.path.join(folder, "g")
    rates = {"mgraph": [], "pyarrow": []}
    parts = choose_part_count(model, threads, "gpu")
    edges = in_host_memory(model)
    with (
        mgraph.connect(workers=gpus or 1, backend="gpu", dashboard="127.0.0.1:0") as cluster,
        peak_memory() as peak,
    ):
        print(cluster)
        for repeat in range(repeats):
            for name in ("pyarrow", "mgraph"):
                shutil.rmtree(out, ignore_errors=True)
                if name == "mgraph":
                    result = mgraph.generate(out, model, cluster=cluster, progress=None)
                    seconds = result.seconds
                else:
                    seconds = pyarrow_seconds(
                        model, edges, parts, out, threads, choose_block_edges(cluster, model)
                    )
                size = sum(entry.stat().st_size for entry in os.scandir(out))
                print(
                    f"{repeat} {name:8s} {seconds:6.2f} s "
                    f"{model.num_edges / seconds / 1e6:8.0f}e6 edges/s {size / 1e9:.2f} GB",
                    flush=True,
                )
                if repeat:
                    rates[name].append(model.num_edges / seconds)
        print(f"resident memory of the workers: {peak['bytes'] / 2**30:.1f} GiB at most")
        medians = {name: statistics.median(values) for name, values in rates.items()}
        print(f"median mgraph / pyarrow: {medians['mgraph'] / medians['pyarrow']:.2f}")
        print(f"checksum {result.manifest.checksum:016x}")
    shutil.rmtree(out, ignore_errors=True)


def fill_share(index, model, shares):
    """Return the seconds in which a worker writes its share of the edges to device memory."""
    return device_seconds(model, model.part(index, shares))


def scaling(max_gpus):
    model = CopyModel(small(2_000_000_000), 8)
    alone = None
    gpus = 1
    while gpus <= max_gpus:
        with mgraph.connect(workers=gpus, backend="gpu", dashboard="127.0.0.1:0") as cluster:
            workers = list(cluster.workers)
            futures = [
                cluster.client.submit(fill_share, i, model, gpus, workers=[workers[i]])
                for i in range(gpus)
            ]
            times = [seconds for seconds, _ in cluster.client.gather(futures)]
        slowest = max(times)
        alone = alone or slowest
        print(
            f"{gpus} GPUs: {slowest * 1e3:.1f} ms, "
            f"{model.num_edges / slowest / 1e9:.1f}e9 edges/s, "
            f"{alone / slowest / gpus:.1%} of linear",
            flush=True,
        )
        gpus *= 2


def fill_blocks(model, blocks):
    """Make blocks one after another, in the same memory; return the seconds and the checksums."""
    import cupy

    from mgraph.generators import cuppa_hash_gpu, preferential_attachment_gpu

    dst = preferential_attachment_gpu.empty_ids(model, max(blocks, key=model.edges_in))
    sums = cupy.zeros(len(blocks), np.uint64)
    cuppa_hash_gpu.fill(model, blocks[0], None, dst, cupy.zeros(1, np.uint64))  # the core, once
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    for index, block in enumerate(blocks):
        cuppa_hash_gpu.fill(model, block, None, dst, sums[index : index + 1])
    checksums = sums.get()
    return time.perf_counter() - began, checksums


def blocks(gpus):
    model = CopyModel(small(125_000_000_000), 8)
    made = list(model.split(BLOCKS))
    found = {}
    for count in (gpus, 1):
        chosen = range(BLOCKS) if count == gpus else range(0, BLOCKS, 32)
        with mgraph.connect(workers=count, backend="gpu", dashboard="127.0.0.1:0") as cluster:
            seconds = []
            for _ in range(3 if count == gpus else 1):
                futures = [
                    cluster.client.submit(
                        fill_blocks, model, [made[i] for i in chosen[rank::count]],
                        workers=[worker], pure=False,
                    )
                    for rank, worker in enumerate(cluster.workers)
                ]  # fmt: skip
                results = cluster.client.gather(futures)
                seconds.append(max(each for each, _ in results))
            found[count] = {
                block: int(checksum)
                for rank, (_, checksums) in enumerate(results)
                for block, checksum in zip(chosen[rank::count], checksums, strict=True)
            }
        if count == gpus:
            took = statistics.median(seconds)
            print(
                f"{gpus} GPUs: {model.num_edges:,} edges ({model.dtype}) in {took:.3f} s, "
                f"{model.num_edges / took / 1e9:.0f}e9 edges/s; "
                f"checksum {sum(found[gpus].values()) % 2**64:016x}",
                flush=True,
            )
    assert all(found[gpus][block] == checksum for block, checksum in found[1].items())
    print(f"{len(found[1])} of {BLOCKS} blocks made again by one GPU: the same", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["memory", "parquet", "scaling", "blocks"])
    parser.add_argument("arguments", nargs="*")
    add_option(parser)
    arguments = apply(parser.parse_args())
    given = arguments.arguments
    if arguments.what == "memory":
        memory()
    elif arguments.what == "parquet":
        parquet(given[0] if given else ".", *map(int, given[1:]))
    else:
        {"scaling": scaling, "blocks": blocks}[arguments.what](int(given[0]) if given else 1)


if __name__ == "__main__":
    main()
