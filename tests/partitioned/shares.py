"""What ranks do with arrays that they share; GPU tests run it over NCCL as well."""

import numpy as np

LENGTHS = (0, 1, 2, 3, 4, 5, 1000, 100_003)


def check(exchange, memory=None, argument=None, *, on_gpu=False):
    """At each rank: minima and shares of arrays of all lengths are NumPy's; return how many."""
    if on_gpu:
        import cupy as xp
    else:
        xp = np
    random = np.random.default_rng(5)
    for length in LENGTHS:
        arrays = random.integers(0, 1 << 63, (exchange.size, length)).astype(np.uint64)
        expected, share = arrays.min(axis=0), exchange.share(length)
        own = arrays[exchange.rank]
        least = exchange.minimum(xp.asarray(own.copy()))
        of_share = exchange.minimum_share(xp.asarray(own.copy()))
        narrow = exchange.minimum_share(xp.asarray((own >> np.uint64(32)).astype(np.uint32)))
        numbers = xp.asarray(own[share].astype(np.uint32))
        whole = exchange.gather_shares(numbers, length)
        rows = np.concatenate(
            [
                arrays[rank][exchange.share(length, rank)].astype(np.uint32)
                for rank in range(exchange.size)
            ]
        )
        for found, right in (
            (least, expected),
            (of_share, expected[share]),
            (narrow, (expected[share] >> np.uint64(32)).astype(np.uint32)),
            (whole, rows),
        ):
            assert found.dtype == right.dtype
            np.testing.assert_array_equal(found.get() if on_gpu else found, right)
    return len(LENGTHS)
