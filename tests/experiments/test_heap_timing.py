"""Heaps are timed, and one that needs a GPU is refused without one."""

import pytest

from mgraph import DeviceError, UsageError, experiments
from mgraph.core.backend import gpu_count
from mgraph.experiments.heap_timing import GPU_HEAPS, ORDERS, _batch_sizes


@pytest.mark.parametrize("heap", ["batch", "sequential"])
def test_heaps_on_a_cpu_are_timed(heap):
    for order in ORDERS:
        times = experiments.heap_seconds(heap, 1 << 13, order=order, node=64, repeats=2)
        assert times.push > 0
        assert times.pop > 0
    assert experiments.heap_pair_seconds(heap, 8, 20, node=64, repeats=1) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("heap", GPU_HEAPS)
def test_heaps_on_a_gpu_are_timed(heap):
    for order in ORDERS:
        assert sum(experiments.heap_seconds(heap, 1 << 16, order=order, repeats=2)) > 0
    assert experiments.heap_pair_seconds(heap, 32, 64, repeats=2) > 0
    if heap != "synchronous":
        assert experiments.heap_seconds(heap, 1 << 16, full=0.5, blocks=7, node=256).push > 0


@pytest.mark.gpu
def test_several_heaps_on_a_gpu_are_timed():
    one, many = (experiments.multi_heap_seconds(n, 1 << 18, repeats=2) for n in (1, 16))
    assert min(one[:2]) > 0 < min(many[:2])
    assert one.rank_error < many.rank_error < 1 << 16


def test_batches_have_the_fraction_of_full_ones_that_was_requested():
    sizes = _batch_sizes(1 << 16, 256, 0.5)
    assert sizes.sum() == 1 << 16
    assert 0.4 < (sizes == 256).mean() < 0.6
    assert sizes.min() >= 1
    for keys, node in ((1 << 22, 256), (1 << 26, 256), (1 << 24, 1024)):
        partial = _batch_sizes(keys, node, 0.0)
        assert partial.sum() == keys
        assert 1 <= partial.min() <= partial.max() < node
    assert (_batch_sizes(1 << 12, 256, 1.0) == 256).all()


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (("pile", 1024), {}, "heap must be one of bottom_up, top_down"),
        (("sequential", 1000), {}, r"a multiple of node, 1,024 \(got 1,000\)"),
        (("sequential", 1024), {"order": "any"}, "order must be one of random"),
        (("sequential", 1024), {"full": 0.5}, "full must be 1 for heap sequential"),
        (("sequential", 1024), {"node": 3}, "node must be a power of two"),
        (("sequential", 1024), {"block_threads": 0}, "block_threads must be a power of two"),
        (("sequential", 1024), {"blocks": 0}, "blocks must be a whole number of at least 1"),
        (("sequential", 1024), {"repeats": 0}, "repeats must be at least 1"),
    ],
)
def test_wrong_parameters_are_refused(arguments, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        experiments.heap_seconds(*arguments, **options)
    with pytest.raises((UsageError, DeviceError), match=r"heaps must be at least 1|needs a GPU"):
        experiments.multi_heap_seconds(0, 1024)
    with pytest.raises(UsageError, match="nodes and pairs must be at least 1"):
        experiments.heap_pair_seconds("sequential", 0, 1)


@pytest.mark.skipif(gpu_count() > 0, reason="there is a GPU")
def test_a_heap_that_needs_a_gpu_is_refused_without_one():
    with pytest.raises(DeviceError, match="heap bottom_up needs a GPU, and there is none"):
        experiments.heap_seconds("bottom_up", 1024)
