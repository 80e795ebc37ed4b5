"""cuPPA on a GPU generates the edges of copy on a CPU, bit for bit, for any segments."""

import itertools

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, OutOfMemoryError, UsageError, experiments
from mgraph.generators import preferential_attachment
from tests.gpu import certificate

pytestmark = pytest.mark.gpu

SIZES = [
    (2, 1), (1000, 1), (300_000, 1), (3, 2), (50_000, 2), (5, 4), (100_000, 4), (50_000, 7),
    (50_000, 8), (50_000, 9), (20_000, 20), (20_000, 32), (34, 33), (10_000, 33), (10_000, 64),
    (5_000, 100), (2_000, 500), (2_000, 1024), (1_300, 1100), (4_300, 4096),
]  # fmt: skip


def on_gpu(model, **options):
    from mgraph.generators import preferential_attachment_gpu

    return preferential_attachment_gpu.generate_endpoints(model, model.n, **options).get()


def on_cpu(model):
    return preferential_attachment.generate_endpoints(model, backend="cpu")


@pytest.mark.parametrize("p", [0.0, 1e-5, 0.01, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_gpu_equals_cpu(n, d, p):
    for seed in (1, 1 << 40):
        model = CopyModel(n, d, p, seed, "cuppa")
        np.testing.assert_array_equal(on_gpu(model), on_cpu(model))


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize(("n", "d"), [(10_000_000, 4), (1_000_000, 40)])
def test_gpu_equals_cpu_at_forty_million_edges(n, d, p):
    model = CopyModel(n, d, p, method="cuppa")
    np.testing.assert_array_equal(on_gpu(model), on_cpu(model))


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("d", [2, 20, 40])
def test_ids_of_64_bits(d, p):
    from mgraph.generators import preferential_attachment_gpu

    model = CopyModel((1 << 31) + 5000, d, p, method="cuppa")
    assert model.dtype == np.int64
    stop = model.n if d == 2 else 3_000_000
    dst = preferential_attachment_gpu.generate_endpoints(model, stop)
    vertices = certificate.sample(CopyModel(stop, d), 200_000)
    assert certificate.wrong_endpoints(model, dst, vertices) == 0
    dst[dst.size - 1] ^= 1
    assert certificate.wrong_endpoints(model, dst, vertices) >= 1


@pytest.mark.parametrize("segments", ["dynamic", "fixed", 1, 100, 12_345, 1 << 40])
@pytest.mark.parametrize(("n", "d", "p"), [(20_000, 4, 0.5), (5_000, 33, 0.1), (3_000, 200, 0.5)])
def test_segments_do_not_change_the_graph(n, d, p, segments):
    model = CopyModel(n, d, p, method="cuppa")
    rounds = []
    np.testing.assert_array_equal(on_gpu(model, segments=segments, rounds=rounds), on_cpu(model))
    assert rounds[0].first == d
    assert rounds[-1].stop == n
    assert all(round.stop == after.first for round, after in itertools.pairwise(rounds))
    sizes = [round.stop - round.first for round in rounds]
    assert segments == "dynamic" or all(size == sizes[0] for size in sizes[:-1])


@pytest.mark.parametrize("block_threads", [32, 64, 256, 512, 1024])
@pytest.mark.parametrize(("n", "d"), [(20_000, 1), (20_000, 4), (5_000, 33), (3_000, 200)])
def test_block_threads_do_not_change_the_graph(n, d, block_threads):
    model = CopyModel(n, d, method="cuppa")
    np.testing.assert_array_equal(on_gpu(model, block_threads=block_threads), on_cpu(model))


@pytest.mark.parametrize(
    "options",
    [
        {"partition": "consecutive"},
        {"partition": "consecutive", "segments": "fixed", "places": 200},
        {"growth": 2}, {"growth": 8, "places": 100, "partition": "consecutive"},
    ],
)  # fmt: skip
@pytest.mark.parametrize(("n", "d", "p"), [(200_000, 4, 0.1), (50_000, 7, 0.5), (3_000, 200, 0.5)])
def test_schedules_do_not_change_the_graph(n, d, p, options):
    model = CopyModel(n, d, p, method="cuppa")
    np.testing.assert_array_equal(on_gpu(model, **options), on_cpu(model))


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize(("n", "d"), [(1_000, 200), (3_000, 1100), (5_000, 4096)])
def test_vertices_of_more_slots_than_threads_resume_after_waiting(monkeypatch, n, d, p):
    from mgraph.generators import cuppa_gpu

    monkeypatch.setattr(cuppa_gpu, "MAX_POLLS", 0)
    for seed in range(5):
        model = CopyModel(n, d, p, seed, "cuppa")
        np.testing.assert_array_equal(on_gpu(model, block_threads=64), on_cpu(model))


@pytest.mark.parametrize(("d", "queue"), [(1, 32), (4, 32), (40, 32), (40, 1)])
def test_a_full_queue_loses_no_edge(monkeypatch, d, queue):
    from mgraph.generators import cuppa_gpu

    monkeypatch.setattr(cuppa_gpu, "QUEUE_CAPACITY", queue)
    monkeypatch.setattr(cuppa_gpu, "MAX_POLLS", 0)  # else hardly anything is queued above d = 32
    model = CopyModel(8_000_000 // d, d, 0.0, method="cuppa")
    rounds = []
    endpoints = on_gpu(model, segments=1 << 40, rounds=rounds)
    np.testing.assert_array_equal(endpoints, on_cpu(model))
    assert rounds[0].longest == queue
    assert rounds[0].overflows > 0


@pytest.mark.parametrize("method", ["cuppa", "cuppa_hash"])
@pytest.mark.parametrize(("n", "d", "p"), [(100_000, 4, 0.5), (20_000, 8, 0.0), (5_000, 50, 0.3)])
def test_statistics_are_those_of_the_cpu(n, d, p, method):
    model = CopyModel(n, d, p, method=method)
    options = {"segments": 1280} if method == "cuppa" else {}
    cpu, gpu = (
        experiments.copy_statistics(model, backend=backend, **options) for backend in ("cpu", "gpu")
    )
    np.testing.assert_array_equal(gpu.attempts, cpu.attempts)
    np.testing.assert_array_equal(gpu.chains, cpu.chains)
    assert [round[:4] for round in gpu.rounds] == [round[:4] for round in cpu.rounds]


@pytest.mark.parametrize("weights", [None, (1, 9)])
def test_edges_and_streams(weights):
    model = CopyModel(30_000, 8, method="cuppa", weights=weights)
    complete = model.edges(backend="cpu")
    for part in (range(model.n), range(3, 20_000), range(5, 5)):
        result, expected = (model.edges(part, backend=backend) for backend in ("gpu", "cpu"))
        for ours, theirs in zip(result.edges, expected.edges, strict=True):
            np.testing.assert_array_equal(ours.get(), theirs)
        assert result.checksum == expected.checksum
    rows = checksum = 0
    for block in preferential_attachment.stream(
        model, range(model.n), backend="gpu", block_edges=1000
    ):
        block_rows = slice(rows, rows + len(block.edges))
        for ours, theirs in zip(block.edges, complete.edges, strict=True):
            np.testing.assert_array_equal(ours, theirs[block_rows])
        rows, checksum = block_rows.stop, checksum + block.checksum
    assert (rows, checksum % (1 << 64)) == (model.num_edges, complete.checksum)


@pytest.mark.parametrize("parts", [1, 7])
def test_datasets_are_those_of_the_cpu(tmp_path, parts):
    model = CopyModel(500_000, 4, method="cuppa")
    with mgraph.connect(workers=1, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        manifest = mgraph.generate(
            tmp_path / "g", model, cluster=cluster, parts=parts, progress=None
        ).manifest
        assert mgraph.verify(tmp_path / "g", regenerate=1.0, cluster=cluster, progress=None).ok
    assert manifest.checksum == model.edges(backend="cpu").checksum


def test_a_graph_too_large_for_memory_is_refused_before_any_work(tmp_path):
    model = CopyModel(1 << 36, 4, method="cuppa")
    with pytest.raises(OutOfMemoryError, match=r"needs 4,096\.0 GiB.*use method cuppa_hash"):
        model.edges(backend="gpu")
    with pytest.raises(OutOfMemoryError, match=r"needs 2,048\.0 GiB.*use method cuppa_hash"):
        mgraph.generate(tmp_path / "g", model, progress=None)
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"segments": "all"}, "segments, if not dynamic or fixed, must be a whole number"),
        ({"segments": 0}, "segments must lie in"),
        ({"block_threads": 33}, "block_threads must be a multiple of 32"),
        ({"block_threads": 2048}, "block_threads must be a multiple of 32"),
    ],
)
def test_wrong_use(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        experiments.copy_statistics(CopyModel(100, method="cuppa"), backend="gpu", **options)
