"""Times of heaps are told, and only of what there is."""

import pytest

from mgraph import DeviceError, UsageError, experiments
from mgraph.core.backend import gpu_count
from mgraph.experiments.heap_timing import ON_GPU, ORDERS, _sizes


@pytest.mark.parametrize("heap", ["batch", "sequential"])
def test_heaps_of_a_cpu(heap):
    for order in ORDERS:
        found = experiments.heap_seconds(heap, 1 << 13, order=order, node=64, repeats=2)
        assert found.push > 0
        assert found.pop > 0
    assert experiments.heap_pair_seconds(heap, 8, 20, node=64, repeats=1) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("heap", ON_GPU)
def test_heaps_of_a_gpu(heap):
    for order in ORDERS:
        assert sum(experiments.heap_seconds(heap, 1 << 16, order=order, repeats=2)) > 0
    assert experiments.heap_pair_seconds(heap, 32, 64, repeats=2) > 0
    if heap != "synchronous":
        assert experiments.heap_seconds(heap, 1 << 16, full=0.5, blocks=7, node=256).push > 0


def test_batches_of_random_sizes():
    sizes = _sizes(1 << 16, 256, 0.5)
    assert sizes.sum() == 1 << 16
    assert 0.4 < (sizes == 256).mean() < 0.6
    assert sizes.min() >= 1
    for keys, node in ((1 << 22, 256), (1 << 26, 256), (1 << 24, 1024)):
        few = _sizes(keys, node, 0.0)
        assert few.sum() == keys
        assert 1 <= few.min() <= few.max() < node
    assert (_sizes(1 << 12, 256, 1.0) == 256).all()


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (("pile", 1024), {}, "heap must be one of bottom_up, top_down"),
        (("sequential", 1000), {}, "a multiple of node, 1,024, and are 1,000"),
        (("sequential", 1024), {"order": "any"}, "order must be one of random"),
        (("sequential", 1024), {"full": 0.5}, "full is a share, of the concurrent heap's"),
        (("sequential", 1024), {"node": 3}, "node must be a power of two"),
        (("sequential", 1024), {"block_threads": 0}, "block_threads must be a power of two"),
        (("sequential", 1024), {"blocks": 0}, "blocks must be a whole number, 1 or more"),
        (("sequential", 1024), {"repeats": 0}, "repeats must be 1 at least"),
    ],
)
def test_wrong_use(arguments, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        experiments.heap_seconds(*arguments, **options)
    with pytest.raises(UsageError, match="nodes and pairs must be 1 at least"):
        experiments.heap_pair_seconds("sequential", 0, 1)


@pytest.mark.skipif(gpu_count() > 0, reason="there is a GPU")
def test_no_gpu():
    with pytest.raises(DeviceError, match="heap bottom_up is one of a GPU, and there is none"):
        experiments.heap_seconds("bottom_up", 1024)
