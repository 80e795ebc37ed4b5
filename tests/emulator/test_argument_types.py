"""The emulator refuses what a device would read as something else."""

import numpy as np
import pytest

from mgraph.core import primitives_gpu
from tests import emulator

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
ARRAY, POSITIONS = np.zeros(4, np.int32), np.array([1, 2])
COUNT, VALUE = np.int64(2), np.int32(7)


def put(*arguments):
    emulator.launch(primitives_gpu.KERNELS, "put", {"MGRAPH_ELEMENT_T": "int"}, 1, 32, arguments)


def test_arguments_of_the_declared_types_are_passed():
    array = ARRAY.copy()
    put(array, POSITIONS, COUNT, VALUE)
    assert array.tolist() == [0, 7, 7, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        (ARRAY, POSITIONS.astype(np.int32), COUNT, VALUE),
        (ARRAY.astype(np.int64), POSITIONS, COUNT, VALUE),
        (ARRAY, POSITIONS, np.int32(2), VALUE),
        (ARRAY, POSITIONS, COUNT, 7),
        (ARRAY, POSITIONS, COUNT, np.float32(7)),
        (ARRAY, POSITIONS, POSITIONS, VALUE),
    ],
)
def test_arguments_of_other_types_are_refused(arguments):
    with pytest.raises(AssertionError, match="argument"):
        put(*arguments)


def test_positions_are_64_bits_wide():
    with pytest.raises(TypeError, match="int64"):
        primitives_gpu.put(ARRAY, POSITIONS.astype(np.int32), 7)
