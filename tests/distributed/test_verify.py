"""verify holds for what generate made, and names what was done to it since."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, UsageError
from mgraph.distributed.operations.verify import choose_parts

MODEL = CopyModel(3000, 5)


@pytest.fixture
def dataset(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", MODEL, cluster=cluster, parts=4, progress=None)
    return tmp_path / "g"


def faults(dataset, cluster, **options):
    return mgraph.verify(dataset, cluster=cluster, progress=None, **options).faults


def edit(dataset, change, part="part-00002.parquet"):
    """Rewrite a part with ``change`` applied to its arrays."""
    file = dataset / part
    table = pq.read_table(file)
    src, dst = change(table["src"].to_numpy().copy(), table["dst"].to_numpy().copy())
    pq.write_table(pa.table({"src": src, "dst": dst}, schema=table.schema), file)


def test_what_was_generated_holds(dataset, cluster):
    verdict = mgraph.verify(dataset, regenerate=0.5, cluster=cluster, progress=None)
    assert verdict.ok
    assert (verdict.parts, verdict.regenerated, verdict.num_edges) == (4, 2, MODEL.num_edges)


def swap_edges(src, dst):
    dst[[0, 1]] = dst[[1, 0]]  # within a vertex: another order of the same edges
    return src, dst


def change_dst(src, dst):
    free = set(range(src[7])) - set(dst[src == src[7]])
    dst[7] = min(free)
    return src, dst


def repeat_edge(src, dst):
    dst[1] = dst[0]
    return src, dst


def self_loop(src, dst):
    dst[9] = src[9]
    return src, dst


def negative(src, dst):
    dst[9] = -1
    return src, dst


def beyond(src, dst):
    dst[9] = MODEL.n + 1
    return src, dst


def drop_last(src, dst):
    return src[:-1], dst[:-1]


def disorder(src, dst):
    order = np.r_[5:10, 0:5, 10 : len(src)]
    return src[order], dst[order]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_dst, "an edge was changed"),
        (repeat_edge, "repeats an edge"),
        (self_loop, "dst outside"),
        (negative, "dst outside"),
        (beyond, "dst outside"),
        (drop_last, "rows, and the manifest says"),
        (disorder, "another src than its position requires"),
    ],
)
def test_an_edited_part_is_named(dataset, cluster, change, words):
    edit(dataset, change)
    (fault,) = faults(dataset, cluster)
    assert "part-00002.parquet" in fault
    assert words in fault


@pytest.mark.parametrize("change", [negative, beyond])
def test_degrees_are_of_all_ends_or_an_error(dataset, cluster, change):
    edit(dataset, change)
    with pytest.raises(DatasetError, match=r"so 29,970 endpoints, .* hold 29,969; run mgraph"):
        mgraph.degrees(dataset, cluster=cluster, progress=None)


def test_order_within_a_vertex_is_free(dataset, cluster):
    edit(dataset, swap_edges)
    assert not faults(dataset, cluster)


def test_a_truncated_and_a_missing_part_are_named(dataset, cluster):
    file = dataset / "part-00001.parquet"
    file.write_bytes(file.read_bytes()[:200])
    (dataset / "part-00003.parquet").unlink()
    first, second = faults(dataset, cluster)
    assert "part-00001.parquet is not a complete Parquet file" in first
    assert "part-00003.parquet is missing" in second


def test_flipped_bytes_are_seen(dataset, cluster):
    file = dataset / "part-00001.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)
    assert "part-00001.parquet" in faults(dataset, cluster)[0]


def test_a_graph_of_another_seed_is_seen_by_regeneration(dataset, cluster):
    manifest = json.loads((dataset / "_manifest.json").read_text())
    manifest["model"]["seed"] = 2
    (dataset / "_manifest.json").write_text(json.dumps(manifest))
    assert not faults(dataset, cluster)
    found = faults(dataset, cluster, regenerate=1.0)
    assert len(found) == 4
    assert "is not what its parameters generate" in found[0]


def test_what_is_no_dataset_raises(tmp_path, cluster):
    with pytest.raises(DatasetError, match="not a dataset"):
        mgraph.verify(tmp_path, cluster=cluster)
    with pytest.raises(UsageError, match="regenerate"):
        mgraph.verify(tmp_path, regenerate=2, cluster=cluster)


def test_choose_parts_are_spread():
    assert choose_parts(10, 0.0) == frozenset()
    assert choose_parts(10, 0.2) == {0, 5}
    assert choose_parts(3, 0.01) == {0}
    assert choose_parts(7, 1.0) == set(range(7))


def test_weights_are_held_against_their_hash(tmp_path, cluster):
    model = CopyModel(3000, 5, weights=(1, 50))
    result = mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=3, progress=None)
    assert result.manifest.checksum == model.edges(backend="cpu").checksum
    assert (result.manifest.model["weights"], result.manifest.weight_dtype) == ([1, 50], "int32")
    assert not faults(tmp_path / "g", cluster, regenerate=1.0)
    file = tmp_path / "g" / "part-00001.parquet"
    table = pq.read_table(file)
    weight = table["weight"].to_numpy().copy()
    weight[5] = weight[5] % 50 + 1
    pq.write_table(table.set_column(2, table.schema.field(2), pa.array(weight)), file)
    (fault,) = faults(tmp_path / "g", cluster)
    assert "row 5 has weight" in fault


@pytest.mark.parametrize("method", ["cuppa_hash", "copy_hash"])
def test_a_dataset_of_an_earlier_version_of_the_model(tmp_path, cluster, method):
    """mgraph 0.1 wrote no version; its draws were others, its edges as many."""
    model = CopyModel(3000, 4, method=method)
    mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=3, progress=None)
    manifest = json.loads((tmp_path / "g" / "_manifest.json").read_text())
    assert manifest["model"].pop("version") == 2
    manifest["created_by"] = "mgraph 0.1.0"
    (tmp_path / "g" / "_manifest.json").write_text(json.dumps(manifest))
    assert mgraph.verify(tmp_path / "g", cluster=cluster, progress=None).ok
    with pytest.raises(DatasetError, match=r"version 1 .*\(mgraph 0\.1\.0\).* version 2"):
        mgraph.verify(tmp_path / "g", regenerate=0.1, cluster=cluster, progress=None)
    (tmp_path / "g" / "_manifest.json").unlink()
    forget_versions(tmp_path / "g")
    with pytest.raises(UsageError, match="parts of another dataset"):
        mgraph.generate(tmp_path / "g", model, cluster=cluster, resume=True, progress=None)


def forget_versions(folder):
    """Take the model's version out of what the parts say of themselves."""
    for file in folder.glob("part-*.parquet"):
        table, footer = pq.read_table(file), json.loads(pq.read_metadata(file).metadata[b"mgraph"])
        assert footer.pop("version") == 2
        with pq.ParquetWriter(file, table.schema) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({"mgraph": json.dumps(footer)})


@pytest.mark.parametrize("method", ["cuppa", "copy", "ba"])
def test_models_whose_draws_have_not_changed_write_no_version(method):
    """So that datasets of mgraph 0.1 can be resumed and made again."""
    assert "version" not in CopyModel(100, 2, method=method).to_json()


@pytest.mark.parametrize("start", ["paper", "ba"])
def test_the_start_is_a_parameter_of_the_dataset(tmp_path, cluster, start):
    model = CopyModel(3000, 4, start=start)
    mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=3, progress=None)
    assert ("start" in mgraph.open_dataset(tmp_path / "g").manifest.model) == (start == "ba")
    assert mgraph.verify(tmp_path / "g", regenerate=1.0, cluster=cluster, progress=None).ok
