"""Decisions of a core's controller, recorded, and a kernel that takes them by the GPU's."""

import numpy as np

from mgraph import CopyModel, EdgeList, from_edges
from mgraph.cuda.source import Source
from mgraph.shortest_paths import near_far_cpu, self_tuning, self_tuning_cpu, sssp_cpu
from mgraph.shortest_paths.problem import check_request

PARTITIONS = self_tuning.PARTITIONS
INPUTS = ["x1", "x2", "x4", "min_queued", "max_updated", "divides", *range(PARTITIONS)]
DECIDED = ["threshold", "d", "alpha", "target", "live", *range(PARTITIONS)]

_KERNEL = """
#include "self_tuning.cuh"

using namespace mgraph;

// One warp. inputs: of each iteration, what INPUTS names; decided: what DECIDED names.
extern "C" __global__ void replay(const double* inputs, int iterations, double set_point,
                                  double mean_degree, double mean_weight, double min_step,
                                  bool is_bound, double* decided) {
  __shared__ controller control;
  const int lane = threadIdx.x;
  if (lane == 0) control.begin(set_point, mean_degree, mean_weight, min_step, 1024, is_bound);
  __syncwarp();
  for (int i = 0; i < iterations; ++i) {
    const double* const row = inputs + i * (6 + partitions);
    observation seen;
    seen.expanded = float(row[0]);
    seen.arcs = float(row[1]);
    seen.near = float(row[2]);
    seen.piece_arcs = 0;
    seen.min_queued = row[3];
    seen.max_updated = row[4];
    seen.partition_size = lane < control.live ? float(row[6 + control.slots[lane]]) : 0;
    const double next = control.decide(seen, false, lane);
    __syncwarp();
    if (row[5] > 0) control.divide(next, false, lane);
    double* const result = decided + i * (5 + partitions);
    if (lane == 0) {
      result[0] = next;
      result[1] = control.d();
      result[2] = control.last.alpha;
      result[3] = control.target;
      result[4] = control.live;
    }
    if (lane < partitions) result[5 + lane] = lane < control.live ? control.bounds[lane] : -1;
    __syncwarp();
    control.learn(seen.expanded, 0, 0, lane);
    __syncwarp();
  }
}
"""


class _Replay(Source):
    __hash__ = Source.__hash__

    def text(self, defines):
        lines = [f"#define {name} {value}\n" for name, value in sorted(defines.items())]
        return "".join(lines) + _KERNEL


REPLAY = _Replay("mgraph.shortest_paths", "controller_replay.cu")


def record(graph, source, set_point, patch, *, is_bound=False):
    """Search on a core; return the controller's inputs and decisions, and the kernel's scalars.

    patch: a ``pytest.MonkeyPatch``.
    """
    request = check_request(graph, source, joint=False, targets=None, stop_at="last", cutoff=None)
    is_integer, weight = request.dtype.kind == "i", request.mean_weight
    unit = self_tuning.length_unit(weight, is_integer=is_integer)
    min_step = self_tuning.min_step(weight, unit, is_integer=is_integer)
    degree = max(request.mean_degree, 1.0)
    distance = np.full(graph.n, request.infinity, request.dtype)
    search = near_far_cpu.new_search(*sssp_cpu.rows_of(request), distance, PARTITIONS)
    control = self_tuning_cpu.new_controller(set_point, degree, weight, unit, is_bound=is_bound)
    values, inputs, decided, arcs = control.values, [], [], []
    functions = {
        name: getattr(self_tuning_cpu, name) for name in ("_learn_degree", "_decide", "_divide")
    }

    def bounds():
        live = int(values[self_tuning_cpu._LIVE])
        return [*control.bounds[:live], *[-1] * (PARTITIONS - live)]

    def learn_degree(control, set_point, x1, x2):
        arcs.append(x2)
        functions["_learn_degree"](control, set_point, x1, x2)

    def decide(far, control, x1, x4, min_queued, max_updated, min_step):
        sizes = far.size.copy()
        functions["_decide"](far, control, x1, x4, min_queued, max_updated, min_step)
        inputs.append([x1, arcs[-1], x4, min_queued, max_updated, 0, *sizes])
        names = "_THRESHOLD", "_ALPHA", "_TARGET", "_LIVE"
        threshold, alpha, target, live = (values[getattr(self_tuning_cpu, n)] for n in names)
        degree = control.advance[0]
        decided.append([threshold, degree, alpha, target, live, *bounds()])

    def divide(control, min_step):
        reads = functions["_divide"](control, min_step)
        inputs[-1][5] = 1
        decided[-1][4:] = [values[self_tuning_cpu._LIVE], *bounds()]
        return reads

    for name, function in [("_learn_degree", learn_degree), ("_decide", decide)]:
        patch.setattr(self_tuning_cpu, name, function)
    patch.setattr(self_tuning_cpu, "_divide", divide)
    patch.setattr(self_tuning_cpu, "_rebalance", self_tuning_cpu._rebalance.py_func)
    patch.setattr(self_tuning_cpu, "_iterate", self_tuning_cpu._iterate.py_func)
    self_tuning_cpu.find_distances_traced(
        search, request.sources[0], control, float(set_point), request.targets,
        request.stop_at_first, request.cutoff, request.infinity, min_step,
    )  # fmt: skip
    scalars = float(set_point), degree, weight / unit, min_step, np.bool_(is_bound)
    return np.array(inputs, float), np.array(decided, float), scalars


def graphs():
    """A road-like and a power-law graph, by name: with whole and fractional weights."""
    random = np.random.default_rng(3)
    numbers = np.arange(3600).reshape(60, 60)
    src = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
    dst = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
    whole = EdgeList(src, dst, random.integers(1, 99, src.size).astype(np.int32))
    fractional = EdgeList(src, dst, random.random(src.size).astype(np.float32))
    power_law = CopyModel(3000, 4, weights=(1, 9999)).edges(backend="cpu").edges
    edges = {"grid": whole, "fractional grid": fractional, "power law": power_law}
    return {name: from_edges(e, directed=False, backend="cpu") for name, e in edges.items()}


def assert_same_decisions(found, decided, inputs, min_step):
    """Hold the GPU's decisions to a core's, but for the rounding of float32.

    Whole thresholds are the same, but for one of a hundred that is rounded the other way. In
    fractional ones the errors add up, and in the end decide: the first twenty are compared.
    """
    if min_step >= 1:
        differ = found[:, 0] != decided[:, 0]
        assert differ.mean() <= 0.01
        assert (np.abs(found[:, 0] - decided[:, 0]) <= 1).all()
    else:
        found, decided, inputs = found[:20], decided[:20], inputs[:20]
        width = np.maximum(decided[:, 0] - inputs[:, 3], min_step)
        assert (np.abs(found[:, 0] - decided[:, 0]) <= 1e-3 * width).all()
    assert (found[:, 4] != decided[:, 4]).mean() <= 0.01
    same = found[:, 4] == decided[:, 4]
    np.testing.assert_allclose(found[same, 1:4], decided[same, 1:4], rtol=0.01)
    np.testing.assert_allclose(found[same, 5:], decided[same, 5:], rtol=1e-3, atol=1)
