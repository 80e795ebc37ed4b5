"""NumPy's functions in place of ``mgraph.core.primitives_gpu``, for tests of other kernels."""

import numpy as np

from mgraph.core import primitives_gpu
from tests.emulator.device import DeviceArray


def fill(array, value):
    array[...] = value
    return array


def fill_leading(array, leading, value):
    array[..., :leading] = value


def put(array, positions, value):
    assert positions.dtype == np.int64
    array[positions] = value


def assign(array, values):
    array[...] = values


def put_each(array, positions, values):
    array.reshape(-1)[positions] = values


def largest_rows(indptr, count):
    degrees = np.diff(indptr)
    return np.argsort(-degrees, kind="stable")[:count]


def accumulate(values):
    np.cumsum(values, out=values)
    return values


def find_rows(indptr, positions):
    return (np.searchsorted(indptr, positions, side="right") - 1).tolist()


def tails(indptr, num_arcs, first_row=0):
    degrees = np.diff(indptr)
    rows = np.arange(degrees.size, dtype=np.int32) + np.int32(first_row)
    return np.repeat(rows, degrees).view(DeviceArray)


def summarize_degrees(indptr, piece):
    degrees = np.diff(indptr)
    large = degrees[degrees > piece]
    return primitives_gpu.DegreeSummary(max(degrees, default=0), int((-(-large // piece)).sum()))


def use_numpy(patch):
    """Replace the functions, by a ``pytest.MonkeyPatch``."""
    patch.setattr(primitives_gpu, "full", lambda *shape_and_more: np.full(*shape_and_more))
    functions = (
        fill,
        fill_leading,
        put,
        put_each,
        assign,
        accumulate,
        find_rows,
        largest_rows,
        tails,
    )
    for function in (*functions, summarize_degrees):
        patch.setattr(primitives_gpu, function.__name__, function)
