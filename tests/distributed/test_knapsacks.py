"""Knapsacks over a cluster: each instance's answer, resumed or not."""

import dataclasses
import json

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import UsageError
from mgraph.distributed.operations.knapsacks import TABLE
from mgraph.knapsacks.pisinger import pisinger_instance

KINDS = ("uncorrelated", "strongly_correlated", "subset_sum", "even_odd")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("knapsacks")
    names = [folder / f"{kind}.data" for kind in KINDS]
    for seed, (kind, name) in enumerate(zip(KINDS, names, strict=True)):
        pisinger_instance(kind, 50, 300, 400, seed=seed).write(name)
    empty = mgraph.KnapsackInstance([], [], 3)
    empty.write(folder / "empty.data")
    return [*names, folder / "empty.data"]


def solve(files, cluster, out=None, **options):
    return mgraph.knapsack_many(files, out, cluster=cluster, progress=None, **options)


@pytest.mark.parametrize("method", ["auto", "branch_and_bound"])
def test_rows_are_the_items_of_each_instance(tmp_path, cluster, files, method):
    out = tmp_path / "r"
    run = solve(files, cluster, out, method=method)
    rows = pq.read_table(out).to_pandas()
    table = pq.read_table(out / TABLE).to_pylist()
    assert [row["file"] for row in table] == [str(file) for file in files]
    for index, (file, packed, row) in enumerate(zip(files, run.packed, table, strict=True)):
        instance = mgraph.KnapsackInstance.read(file)
        alone = mgraph.knapsack(instance.profits, instance.weights, instance.capacity)
        items = rows["item"][rows["instance"] == index].to_numpy()
        assert instance.check_solution(items) == (packed.profit, packed.weight)
        assert packed.profit == row["profit"] == alone.profit == packed.bound
        assert (row["optimal"], row["error"]) == (True, None)
        assert (row["items"], row["of_items"]) == (items.size, instance.items)
    manifest = json.loads((out / "_manifest.json").read_text())
    assert manifest["checksum"] == f"{run.checksum:016x}"
    assert len(manifest["parts"]) == 5


def figures(run):
    return [dataclasses.replace(packed, seconds=0.0) for packed in run.packed]


def test_resume_solves_only_what_is_missing(tmp_path, cluster, files):
    out = tmp_path / "r"
    whole = solve(files, cluster, out)
    for name in ("_manifest.json", "part-00001.parquet"):
        (out / name).unlink()
    again = solve(files, cluster, out, resume=True)
    assert (again.made_parts, again.kept_parts, again.checksum) == (1, 4, whole.checksum)
    assert figures(again) == figures(whole)
    with pytest.raises(UsageError, match="parts of another dataset"):
        solve(files[:2], cluster, out, resume=True)
    with pytest.raises(UsageError, match="`overwrite=True`"):
        solve(files, cluster, out)
    assert solve(files[:2], cluster, out, overwrite=True).made_parts == 2
    assert sorted(x.name for x in out.glob("part-*")) == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]


def test_an_instance_that_takes_too_much_is_told(tmp_path, files):
    with mgraph.connect(workers=1, backend="cpu", threaded=True, dashboard="127.0.0.1:0") as one:
        one.client.run(_spoil)
        run = solve(files, one, tmp_path / "r", method="dynamic_program")
        instead = solve(files, one, tmp_path / "auto")
        one.client.run(_mend)
        again = solve(files, one, tmp_path / "r", method="dynamic_program", resume=True)
    errors = [packed.error for packed in run.packed]
    assert any("use method branch_and_bound" in (error or "") for error in errors)
    assert errors[-1] is None
    assert again.made_parts == sum(error is not None for error in errors)
    assert all(packed.optimal for packed in again.packed)
    assert [x.profit for x in instead.packed] == [x.profit for x in again.packed]
    assert {x.method for x in instead.packed} == {"branch_and_bound", "dynamic_program"}


def _spoil():
    """On the worker: a dynamic program may have one state."""
    from mgraph.knapsacks import dynamic_program

    solver = dynamic_program.solve
    dynamic_program.solve = lambda problem, deadline: solver(problem, deadline, 1)
    dynamic_program.solver = solver


def _mend():
    from mgraph.knapsacks import dynamic_program

    dynamic_program.solve = dynamic_program.solver


def test_nothing_to_solve(cluster, tmp_path):
    with pytest.raises(UsageError, match="at least one instance"):
        solve([], cluster)
    with pytest.raises(mgraph.StorageError, match="cannot be read"):
        solve([tmp_path / "none"], cluster)
