"""What each rank of a partitioned graph is built from: files, or a model that makes the same edges.

A dataset of a method that makes its parts independently of each other is not read: its workers make
each block of edges when it is asked for, so that none of them need be kept.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.distributed.operations.batches import divide_parts
from mgraph.distributed.operations.verify import read_model
from mgraph.errors import DatasetError, UsageError
from mgraph.generators.copy_model import CopyModel
from mgraph.io.dataset import EdgeDataset, Part
from mgraph.partitioned.edge_source import STEP_EDGES

Share = Sequence[Part] | range  # of the edges, for a rank: parts, or vertices of a model


@dataclass(frozen=True)
class BuildPlan:
    """What all ranks know of the graph that they build.

    location: for messages. dtypes: of the columns. directed: else arcs go both ways. model: makes
    the edges, so that no file is read; None if they are read.
    """

    location: str
    n: int
    dtypes: tuple[Any, ...]
    directed: bool
    drop_infinite: bool
    backend: Device
    model: CopyModel | None = None

    def edges_in(self, share: Share) -> int:
        """Return the number of edges of a share."""
        if isinstance(share, range):
            assert self.model is not None
            return self.model.edges_in(share)
        return sum(map(len, share))


class ModelEdges:
    """A rank's edges of a model, made whenever they are asked for."""

    def __init__(self, model: CopyModel, share: range, backend: Device, threads: int) -> None:
        """Take the edges of a range of vertices. threads: on cores."""
        self._model, self._backend, self._threads = model, backend, threads
        self._blocks = model.blocks(share, STEP_EDGES[backend])
        self.sizes = [model.edges_in(block) for block in self._blocks]

    def block(self, index: int) -> EdgeList:
        """Make the edges of a block."""
        block = self._blocks[index]
        return self._model.edges(block, backend=self._backend, threads=self._threads).edges


def check_model(model: CopyModel, reading: Any, symmetrise: bool) -> None:
    """Raise UsageError unless workers make parts of the model's graph, as it is."""
    if reading or symmetrise:
        raise UsageError("reading and symmetrise apply to datasets, not to a model")
    if model.stores_endpoints:
        raise UsageError(
            f"method {model.method} makes a graph as a whole; generate a dataset, or take a method "
            "of which workers make parts: cuppa_hash or copy_hash"
        )


def plan_model(model: CopyModel, device: Device) -> BuildPlan:
    """Plan for a model's graph. Raises UsageError if the method does not run there."""
    if device == "gpu" and not model.runs_on_gpu:
        raise UsageError(f"method {model.method} does not run on a GPU")
    dtypes = tuple(model.columns.values())
    return BuildPlan(str(model), model.n, dtypes, False, False, device, model)


def plan_dataset(
    dataset: EdgeDataset,
    drop_infinite: bool,
    device: Device,
    *,
    directed: bool,
    with_weights: bool = True,
) -> BuildPlan:
    """Plan for a dataset's graph. directed: whether arcs may lack their mirrors."""
    dtypes, model = tuple(dataset.dtypes), _model_of(dataset, device)
    if not with_weights:
        dtypes, drop_infinite = dtypes[:2], False
        model = None if model is None else dataclasses.replace(model, weights=None)
    return BuildPlan(dataset.location, dataset.n, dtypes, directed, drop_infinite, device, model)


def divide(plan: BuildPlan, dataset: EdgeDataset | None, count: int) -> Sequence[Share]:
    """Divide the edges into shares of about as many, one per rank, in order."""
    if plan.model is not None:
        model = plan.model
        rows = [model.num_edges * rank // count for rank in range(1, count)]
        bounds = [0, *map(model.vertex_at, rows), model.n]
        return [range(first, stop) for first, stop in itertools.pairwise(bounds)]
    assert dataset is not None
    shares = divide_parts(dataset, count)
    if len(plan.dtypes) == 2:
        shares = [tuple(part.without_weights() for part in share) for share in shares]
    return [*shares, *[()] * (count - len(shares))]


def _model_of(dataset: EdgeDataset, device: Device) -> CopyModel | None:
    """Return the model that makes the edges of a dataset part by part; None if there is none."""
    try:
        found = read_model(dataset)
    except DatasetError:  # of a later version
        return None
    if found is None or found[0].version != found[1] or found[0].stores_endpoints:
        return None
    model = found[0]
    is_whole = (model.n, model.num_edges) == (dataset.n, dataset.num_edges)
    return model if is_whole and (device == "cpu" or model.runs_on_gpu) else None
