"""What the kernels of all generators share: the macros and the parameters of ``copy_model.cuh``."""

from typing import TYPE_CHECKING, Any

from mgraph.core.hash_keys import stream_key
from mgraph.cuda.source import C_TYPES

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

WARP_SLOTS = 32  # up to this d a warp generates vertices, one lane per slot; above it a block does


def hash_table_size(d: int) -> int:
    """The number of entries in a hash table of d endpoints, at most half of them used."""
    return max(64, 1 << (2 * d - 1).bit_length())


def model_defines(d: int, dtype: Any, start: str) -> dict[str, str]:
    """The macros of ``copy_model.cuh``; each combination is a kernel of its own."""
    return {
        "MGRAPH_D": str(d),
        "MGRAPH_VERTEX_T": C_TYPES[str(dtype)],
        "MGRAPH_BY_EDGES": str(int(start == "ba")),
        "MGRAPH_BY_WARP": str(int(d <= WARP_SLOTS)),
        "MGRAPH_TABLE_SIZE": str(hash_table_size(d)),
    }


def model_values(model: "CopyModel") -> dict[str, Any]:
    """The members of the struct ``copy_model``, for ``pack``."""
    white0, white1, key = stream_key(model.seed)
    return {
        "threshold": model.threshold,
        "stream": {"white0": white0, "white1": white1, "key": key},
    }
