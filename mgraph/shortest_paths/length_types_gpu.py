"""The types of weights and of path lengths that kernels are compiled for."""

import numpy as np

from mgraph.cuda.source import C_TYPES

LENGTH_TYPES = (
    ("int32", "int32"),
    ("int32", "int64"),
    ("int64", "int64"),
    ("float32", "float64"),
    ("float64", "float64"),
)


def length_defines(weight: str, length: str) -> dict[str, str]:
    """Return the macros of ``path_length.cuh`` for weights and lengths of these types."""
    return {"MGRAPH_WEIGHT_T": C_TYPES[weight], "MGRAPH_LENGTH_T": C_TYPES[length]}


def key_dtype(length: np.dtype) -> np.dtype:
    """Return the integer type whose order is that of lengths: see ``path_length.cuh``."""
    return np.dtype(f"int{8 * length.itemsize}")
