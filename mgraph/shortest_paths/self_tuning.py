"""The self-tuning controller's constants, which the CPU's and the GPU's controller share.

Kernels receive them as macros. ``self_tuning_cpu.py`` explains what they are for.
"""

import math

MAX_HOPS = 128  # of an iteration, on a GPU
PARTITIONS = 16  # of the far queue
BOOTSTRAP_ITERATIONS = 5
GUARD = 2.0  # slopes stay within this factor of the last observation
EPSILON = 1e-6
MAX_MEMORY = 16.0  # τ, the time constant of a model's averages, in iterations
BIAS_GAIN, MIN_BIAS, MAX_BIAS = 0.05, 0.5, 3.0  # integral action
# Of a set-point that is an upper bound: the share of iterations that may exceed it, the gain that
# keeps to it, and the least bias.
MAX_EXCEEDING, BOUND_GAIN, MIN_BOUND_BIAS = 0.05, 0.2, 1 / 64
MAX_MISS = 4.0  # it ignores iterations that missed the set-point by more than this factor
UNBOUNDED = 1e300  # the last partition's bound
MIN_STEPS_PER_WEIGHT = 1024  # of fractional lengths: how finely the threshold moves


def controller_defines() -> dict[str, str]:
    """Return the macros of ``self_tuning.cuh``."""
    constants = {
        "PARTITIONS": PARTITIONS,
        "BOOTSTRAP_ITERATIONS": BOOTSTRAP_ITERATIONS,
        "GUARD": GUARD,
        "EPSILON": EPSILON,
        "MAX_MEMORY": MAX_MEMORY,
        "BIAS_GAIN": BIAS_GAIN,
        "MIN_BIAS": MIN_BIAS,
        "MAX_BIAS": MAX_BIAS,
        "MAX_EXCEEDING": MAX_EXCEEDING,
        "BOUND_GAIN": BOUND_GAIN,
        "MIN_BOUND_BIAS": MIN_BOUND_BIAS,
        "MAX_MISS": MAX_MISS,
        "UNBOUNDED": UNBOUNDED,
    }
    return {f"MGRAPH_{name}": repr(value) for name, value in constants.items()}


def length_unit(mean_weight: float, *, is_integer: bool) -> float:
    """Return the unit in which a controller measures lengths: 1, or about the mean weight.

    Fractional lengths are measured in a power of two near the mean weight, which changes no digit,
    so that no quotient of them rounds to 0 or overflows, whatever the weights.
    """
    if is_integer:
        return 1.0
    return float(2.0 ** min(max(math.frexp(mean_weight)[1], -1000), 1000))


def min_step(mean_weight: float, unit: float, *, is_integer: bool) -> float:
    """Return the smallest step of the threshold that has an effect, in units."""
    return 1.0 if is_integer else mean_weight / unit / MIN_STEPS_PER_WEIGHT
