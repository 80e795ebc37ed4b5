"""The knapsacks of the paper on heaps (its table 4), and what it printed of them (its table 5).

Source: section 5.7.2 of "Accelerating concurrent heap on GPUs". The instances are Pisinger's, by
type, items and range; which of a series each was, the paper does not say. In the rows ks_ss_100_18k
and ks_ss_1250_12k its text has the GPU's speed-up and the time with collecting in each other's
places; here they are where they belong.
"""

from typing import NamedTuple


class PaperRun(NamedTuple):
    """What the paper printed of a search: its milliseconds, and the nodes that it explored."""

    milliseconds: float
    nodes: int


class PaperKnapsack(NamedTuple):
    """A row of the paper's tables 4 and 5.

    kind, items, coefficients: as ``pisinger_instance`` takes them. core: with a priority queue.
    gpu, gpu_collecting: with the concurrent heap, without and with its collection.
    """

    kind: str
    items: int
    coefficients: int
    core: PaperRun
    gpu: PaperRun
    gpu_collecting: PaperRun


def _row(
    kind: str, items: int, coefficients: int,
    core: tuple[float, int], gpu: tuple[float, int], gpu_collecting: tuple[float, int],
) -> PaperKnapsack:  # fmt: skip
    runs = (PaperRun(*run) for run in (core, gpu, gpu_collecting))
    return PaperKnapsack(kind, items, coefficients, *runs)


_SC, _ASC, _ESC, _SS = (
    "strongly_correlated", "almost_strongly_correlated", "even_odd", "subset_sum",
)  # fmt: skip
HEAP_PAPER_KNAPSACKS = {
    "ks_sc_700_18k": _row(
        _SC, 700, 18_000, (825.70, 782_802), (670.57, 813_089), (595.58, 810_717)
    ),
    "ks_sc_800_18k": _row(
        _SC, 800, 18_000, (977.49, 923_255), (757.06, 955_374), (708.02, 956_514)
    ),
    "ks_sc_200_7k": _row(_SC, 200, 7_000, (202.40, 243_106), (199.76, 249_373), (205.27, 249_935)),
    "ks_asc_750_16k": _row(
        _ASC, 750, 16_000, (757.17, 709_267), (722.90, 389_249), (566.17, 445_231)
    ),
    "ks_asc_1300_6k": _row(
        _ASC, 1300, 6_000, (5239.97, 4_934_552), (5118.03, 2_832_737), (4115.55, 2_404_241)
    ),
    "ks_asc_500_7k": _row(
        _ASC, 500, 7_000, (502.37, 475_402), (549.10, 296_824), (499.03, 295_951)
    ),
    "ks_esc_900_18k": _row(
        _ESC, 900, 18_000, (1128.4, 1_080_182), (848.65, 1_123_920), (796.58, 1_124_880)
    ),
    "ks_esc_1200_13k": _row(
        _ESC, 1200, 13_000, (2013.06, 1_950_260), (2066.64, 2_002_002), (1357.75, 1_770_747)
    ),
    "ks_esc_400_8k": _row(
        _ESC, 400, 8_000, (355.25, 399_185), (346.53, 418_925), (348.52, 421_504)
    ),
    "ks_ss_100_18k": _row(_SS, 100, 18_000, (42.38, 54_278), (3.55, 55), (3.48, 55)),
    "ks_ss_1250_12k": _row(_SS, 1250, 12_000, (20.27, 23_886), (4.30, 94), (4.12, 94)),
    "ks_ss_1300_14k": _row(_SS, 1300, 14_000, (25.02, 25_305), (19.64, 9_452), (18.01, 8_528)),
}
