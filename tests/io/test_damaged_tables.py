"""Tables and graph files that contradict themselves are refused in a sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import DatasetError, MgraphWarning, UsageError
from tests.io.attributed import convert, edges_of


def test_text_that_xml_does_not_have(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1], "a": ["bell\a"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="XML cannot represent the value 'bell"):
        convert(tmp_path / "a.parquet", tmp_path / "a.graphml")
    assert not (tmp_path / "a.graphml").exists()


def test_damaged_text_of_arrow_files_is_refused(tmp_path):
    """Arrow's kernels trust the offsets of text: a file with wrong ones must not reach them."""
    from pyarrow import feather

    table = pa.table({"src": ["a", "b"], "dst": ["b", "c"]})
    feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
    content = (tmp_path / "a.arrow").read_bytes()
    offsets = np.array([0, 1, 2], np.int32).tobytes()
    wrong = np.array([0, 1 << 30, 2], np.int32).tobytes()
    assert offsets in content
    (tmp_path / "a.arrow").write_bytes(content.replace(offsets, wrong))
    with pytest.raises(DatasetError, match="is damaged, or no Arrow file"):
        mgraph.read_graph(tmp_path / "a.arrow", backend="cpu")


def test_names_that_are_not_text_in_a_parquet_file(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1], "other": [2]}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content.replace(b"other", b"o\xffher"))
    with pytest.raises(DatasetError, match="is not a complete Parquet file"):
        mgraph.read_graph(tmp_path / "a.parquet", backend="cpu")


def test_vertices_of_graph500_that_are_far_too_large(tmp_path):
    np.array([[1, 2], [3, 1 << 36]], "<i8").tofile(tmp_path / "a.graph500")
    with pytest.raises(DatasetError, match="sparse, 4 distinct ones up to 68,719,476,736"):
        mgraph.read_graph(tmp_path / "a.graph500", backend="cpu")


@pytest.mark.parametrize("last", ['"b"', '"b","c"', '"b",'])
def test_rows_that_end_before_their_type(last, tmp_path):
    (tmp_path / "a.csv").write_text(f'Source,Target,Type\n"a","b",Directed\n{last}\n')
    with pytest.raises(DatasetError, match="line 3"):
        mgraph.read_graph(tmp_path / "a.csv", backend="cpu")


@pytest.mark.parametrize(
    "line", ["DD 1 10", "DD 9 1 2", "DD 1 x 2", "DD", "DDDD 1 1 2 3 4", "E 1 2"]
)
def test_coordinates_that_are_none(line, tmp_path):
    (tmp_path / "a.stp").write_text(
        "SECTION Graph\nNodes 3\nEdges 1\nE 1 2 5\nEND\nSECTION Terminals\nTerminals 1\nT 1\nEND\n"
        f"SECTION Coordinates\nDD 1 1 1\n{line}\nEND\nEOF\n"
    )
    with pytest.raises(DatasetError, match="a line of coordinates must be DD, a vertex and 2 num"):
        convert(tmp_path / "a.stp", tmp_path / "a")


def test_nested_columns_before_the_ends(tmp_path):
    table = pa.table({"a": [{"x": 1, "y": [2]}] * 2, "src": [0, 4], "dst": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.warns(MgraphWarning, match="column a not read"):
        assert mgraph.read_graph(tmp_path / "a.parquet", backend="cpu").n == 5
    convert(tmp_path / "a.parquet", tmp_path / "a.json")
    convert(tmp_path / "a.json", tmp_path / "b")
    assert edges_of(tmp_path / "b")["a"].to_pylist() == ['{"x": 1, "y": [2]}'] * 2


def test_a_footer_that_contradicts_itself(tmp_path):
    """Arrow's view of such a column's statistics ends the process; its reading does not."""
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    begin = content.rindex(b"src", 0, content.rindex(b"ARROW:schema"))
    refused = 0
    for place in range(begin, begin + 80):  # the metadata of columns
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        (tmp_path / "b.parquet").write_bytes(bytes(damaged))
        try:
            mgraph.read_graph(tmp_path / "b.parquet", backend="cpu")
        except DatasetError:
            refused += 1
    assert refused


def test_attributes_that_are_nearly_all_missing(tmp_path):
    import json

    nodes = [{"id": str(i), f"key{i}": 1} for i in range(6000)]
    (tmp_path / "a.json").write_text(json.dumps({"nodes": nodes, "edges": []}))
    with pytest.raises(DatasetError, match="have 6,000 attributes, and only"):
        convert(tmp_path / "a.json", tmp_path / "a")
    assert mgraph.read_graph(tmp_path / "a.json", backend="cpu").n == 6000


@pytest.mark.parametrize(
    "text",
    [
        '<gexf><attributes class="node"><default>3</default></attributes><graph/></gexf>',
        '<gexf><color r="1"/><graph/></gexf>',
        '<gexf><graph><node id="a"><color r="300" g="-1" b="0"/></node></graph></gexf>',
    ],
)
def test_odd_elements_of_gexf(text, tmp_path):
    (tmp_path / "a.gexf").write_text(text)
    convert(tmp_path / "a.gexf", tmp_path / "a")


def test_options_that_change_nothing_change_no_identity(tmp_path):
    pq.write_table(pa.table({"src": [0], "dst": [1]}), tmp_path / "a.parquet")
    with mgraph.connect(backend="cpu", dashboard="127.0.0.1:0", in_process=True) as cluster:
        mgraph.sssp_many(tmp_path / "a.parquet", [0], tmp_path / "o", cluster=cluster)
        run = mgraph.sssp_many(
            tmp_path / "a.parquet", [0], tmp_path / "o", cluster=cluster, resume=True,
            reading={"drop_infinite": False},
        )  # fmt: skip
        assert run.kept_parts == 1
    for reading in (5, ["weight"]):
        with pytest.raises(UsageError, match="reading must be a mapping"):
            mgraph.sssp_many(tmp_path / "a.parquet", [0], reading=reading)
    with pytest.raises(UsageError, match="columns names those of text files"):
        mgraph.read_graph(tmp_path / "a.parquet", columns="a,b")
