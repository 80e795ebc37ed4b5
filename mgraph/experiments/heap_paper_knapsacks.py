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


_TABLES = """
ks_sc_700_18k strongly_correlated 700 18000 825.70 782802 670.57 813089 595.58 810717
ks_sc_800_18k strongly_correlated 800 18000 977.49 923255 757.06 955374 708.02 956514
ks_sc_200_7k strongly_correlated 200 7000 202.40 243106 199.76 249373 205.27 249935
ks_asc_750_16k almost_strongly_correlated 750 16000 757.17 709267 722.90 389249 566.17 445231
ks_asc_1300_6k almost_strongly_correlated 1300 6000 5239.97 4934552 5118.03 2832737 4115.55 2404241
ks_asc_500_7k almost_strongly_correlated 500 7000 502.37 475402 549.10 296824 499.03 295951
ks_esc_900_18k even_odd 900 18000 1128.4 1080182 848.65 1123920 796.58 1124880
ks_esc_1200_13k even_odd 1200 13000 2013.06 1950260 2066.64 2002002 1357.75 1770747
ks_esc_400_8k even_odd 400 8000 355.25 399185 346.53 418925 348.52 421504
ks_ss_100_18k subset_sum 100 18000 42.38 54278 3.55 55 3.48 55
ks_ss_1250_12k subset_sum 1250 12000 20.27 23886 4.30 94 4.12 94
ks_ss_1300_14k subset_sum 1300 14000 25.02 25305 19.64 9452 18.01 8528
"""


def _read(line: str) -> tuple[str, PaperKnapsack]:
    name, kind, items, coefficients, *printed = line.split()
    pairs = zip(printed[::2], printed[1::2], strict=True)
    runs = (PaperRun(float(milliseconds), int(nodes)) for milliseconds, nodes in pairs)
    return name, PaperKnapsack(kind, int(items), int(coefficients), *runs)


HEAP_PAPER_KNAPSACKS = dict(map(_read, _TABLES.split("\n")[1:-1]))
