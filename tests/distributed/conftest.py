"""Fixtures of several files here."""

import pytest

import mgraph
from mgraph.distributed.operations import convert_operation
from mgraph.distributed.operations.convert_plan import Sizes
from mgraph.io.renumbering import encode, merge, order, pieces
from mgraph.io.tables import edge_tables


@pytest.fixture
def watched():
    """A cluster of a test's own, whose scheduler is in this process."""
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster


SMALL = 50  # rows of a piece, so that small tables have many


@pytest.fixture(scope="module")
def small_pieces():
    """Conversions in this process have many pieces, batches and parts."""
    patch = pytest.MonkeyPatch()
    patch.setattr(convert_operation, "choose_sizes", lambda cluster: Sizes(SMALL, 30, 20))
    patch.setattr(convert_operation, "choose_part_rows", lambda rows, threads: 70)
    for module in (pieces, encode, order):
        patch.setattr(module, "BATCH_ROWS", 8)
    patch.setattr(merge, "_GROUP_ROWS", 16)
    patch.setattr(edge_tables, "_CHUNK_ROWS", 130)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def convert(small_pieces):
    """In threads of this process, where the sizes above hold."""
    with mgraph.connect(backend="cpu", dashboard="127.0.0.1:0", in_process=True) as cluster:

        def call(location, out, **options):
            return mgraph.convert(location, out, cluster=cluster, **options)

        yield call
