"""The types of weights and of paths' lengths that kernels are compiled for."""

import numpy as np

LENGTH_TYPES = {
    ("int32", "int32"): ("int", "int"),
    ("int32", "int64"): ("int", "long long"),
    ("int64", "int64"): ("long long", "long long"),
    ("float32", "float32"): ("float", "float"),
    ("float64", "float64"): ("double", "double"),
}


def length_defines(weight: str, length: str) -> dict[str, str]:
    """The macros of ``path_length.cuh`` for weights and lengths of these types."""
    weight_t, length_t = LENGTH_TYPES[weight, length]
    return {"MGRAPH_WEIGHT_T": weight_t, "MGRAPH_LENGTH_T": length_t}


def key_dtype(length: np.dtype) -> np.dtype:
    """The integers whose order is that of lengths: see ``path_length.cuh``."""
    return np.dtype(f"int{8 * length.itemsize}")
