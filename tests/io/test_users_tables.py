"""What users' tables hold beside plain rows: read right, reported, or refused in a sentence."""

import decimal
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import DatasetError, MgraphWarning, UsageError
from mgraph.cli.main import main
from tests.io.attributed import convert, edges_of, vertices_of


def test_the_weights_of_a_path_are_those_of_the_file(tmp_path, capsys):
    (tmp_path / "p.csv").write_text("source,target,weight\na,b,1e16\nb,c,1\nb,c,7\nc,d,0.1\n")
    assert main(["sssp", str(tmp_path / "p.csv"), "--source", "a", "--target", "d", "--path"]) == 0
    out = capsys.readouterr().out
    assert "by an arc of weight 1\n" in out
    assert "by an arc of weight 0.1" in out


@pytest.mark.parametrize("ending", ["gexf", "json", "csv", "arrow"])
def test_files_have_the_vertices_that_datasets_have(ending, tmp_path):
    (tmp_path / "e.csv").write_text("source,target,weight\n100,300,1\n300,200,2\n")
    convert(tmp_path / "e.csv", tmp_path / "d")
    convert(tmp_path / "e.csv", tmp_path / f"f.{ending}")
    convert(tmp_path / f"f.{ending}", tmp_path / "g")
    for name in "dg":
        assert list(map(str, vertices_of(tmp_path / name)["id"].to_pylist())) == [
            "100",
            "200",
            "300",
        ]
    convert(tmp_path / "e.csv", tmp_path / "k.json", keep_numbers=True)
    assert mgraph.read_graph(tmp_path / "k.json", backend="cpu").n == 301


def test_columns_of_vertices_that_only_look_like_numbers(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    (tmp_path / "v.csv").write_text(
        "id,zip,phone,pop,area\na,00501,+4912,7,1.5\nb,90210,0123,,2e3\nc,10115,1,9,-3\n"
    )
    convert(tmp_path / "e.csv", tmp_path / "d", columns="src,dst", vertices=tmp_path / "v.csv")
    table = vertices_of(tmp_path / "d").to_pydict()
    assert table["zip"] == ["00501", "90210", "10115"]
    assert table["phone"] == ["+4912", "0123", "1"]
    assert table["pop"] == [7, None, 9]
    assert table["area"] == [1.5, 2000.0, -3.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [("100,Koeln\n200,Bonn\n", "must name the columns"), ("id,x\na,1\n,2\n", "row 2 has none")],
)
def test_tables_of_vertices_without_names(text, words, tmp_path):
    (tmp_path / "e.csv").write_text("a,b\n")
    (tmp_path / "v.csv").write_text(text)
    for out in ("d", "f.gexf"):
        with pytest.raises(DatasetError, match=words):
            convert(
                tmp_path / "e.csv", tmp_path / out, columns="src,dst", vertices=tmp_path / "v.csv"
            )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Person,Friend\nann,bob\nbob,cy\n", "read as an edge between 'Person' and 'Friend'"),
        ("source,target\n#x,y\nu,v\n", "lines that begin with # or % are comments"),
    ],
)
def test_what_may_mean_something_else_is_told(text, words, tmp_path):
    (tmp_path / "e.csv").write_text(text)
    with pytest.warns(MgraphWarning, match=words):
        mgraph.read_graph(tmp_path / "e.csv", backend="cpu")


@pytest.mark.parametrize("word", ["#x", "%y"])
def test_ids_that_would_be_comments(word, tmp_path):
    pq.write_table(pa.table({"src": [word], "dst": ["v"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="are comments in this format"):
        convert(tmp_path / "a.parquet", tmp_path / "a.txt")
    convert(tmp_path / "a.parquet", tmp_path / "a.csv")
    convert(tmp_path / "a.csv", tmp_path / "a")
    assert word in vertices_of(tmp_path / "a")["id"].to_pylist()


def test_attributes_of_networkx_in_text(tmp_path):
    (tmp_path / "a.edgelist").write_text("1 2 {'weight': 3.0}\n2 5 {'weight': 4.0}\n")
    with pytest.raises(DatasetError, match="line 1 has attributes as NetworkX"):
        mgraph.read_graph(tmp_path / "a.edgelist", backend="cpu")


def test_decimal_weights_are_the_nearest_doubles(tmp_path):
    values = [decimal.Decimal(i) / 100 for i in range(1, 2001)]
    column = pa.array(values, pa.decimal128(10, 2))
    ends = np.arange(2000)
    pq.write_table(
        pa.table({"src": ends, "dst": ends + 1, "weight": column}), tmp_path / "a.parquet"
    )
    convert(tmp_path / "a.parquet", tmp_path / "a")
    for location in ("a.parquet", "a"):
        graph = mgraph.read_graph(tmp_path / location, backend="cpu")
        assert graph.weights.tolist() == list(map(float, values))


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_weights_that_are_no_numbers(ending, tmp_path):
    from pyarrow import feather

    table = pa.table({"src": [10, 20], "dst": [20, 30], "weight": [1.5, float("nan")]})
    file = tmp_path / f"a.{ending}"
    if ending == "csv":
        file.write_text("src,dst,weight\n10,20,1.5\n20,30,NaN\n")
    else:
        {"parquet": pq.write_table, "arrow": feather.write_feather}[ending](table, file)
    with pytest.raises(DatasetError, match="weight must be a number"):
        convert(file, tmp_path / "d")
    assert not (tmp_path / "d" / "_manifest.json").exists()


def test_text_views_of_polars(tmp_path):
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    polars.DataFrame({"src": [10, 20], "dst": [20, 30], "name": ["x", "y"]}).write_ipc(
        tmp_path / "a.arrow"
    )
    polars.DataFrame({"id": [10, 20], "city": ["Ulm", "Hof"]}).write_ipc(tmp_path / "v.arrow")
    convert(tmp_path / "a.arrow", tmp_path / "a", vertices=tmp_path / "v.arrow")
    assert edges_of(tmp_path / "a")["name"].to_pylist() == ["x", "y"]
    assert vertices_of(tmp_path / "a")["city"].to_pylist() == ["Ulm", "Hof", None]
    convert(tmp_path / "a.arrow", tmp_path / "a.csv", vertices=tmp_path / "v.arrow")


@pytest.mark.parametrize("text", ["", "source,target\n", "# nothing\n"])
def test_tables_without_rows(text, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert "it has no edges" in convert(tmp_path / "a.csv", tmp_path / "a")
    assert mgraph.open_dataset(tmp_path / "a").num_edges == 0


def test_two_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([pa.array([0])] * 3, names=["src", "dst", "dst"])
    pq.write_table(table, tmp_path / "a.parquet")
    for out in ("a", "a.csv"):
        with pytest.raises(DatasetError, match="it has two columns dst"):
            convert(tmp_path / "a.parquet", tmp_path / out)
    with pytest.raises(DatasetError, match="it has two columns dst"):
        mgraph.read_graph(tmp_path / "a.parquet", backend="cpu")


def test_ids_of_other_types_in_files(tmp_path):
    large = {"src": pa.array([2**63 + 1], pa.uint64()), "dst": pa.array([2**64 - 1], pa.uint64())}
    binary = {"src": pa.array([b"a"], pa.binary()), "dst": pa.array([b"b"], pa.binary())}
    ids = [uuid.UUID(int=1), uuid.UUID(int=2)]
    columns = [pa.array([x.bytes], pa.binary(16)) for x in ids]
    for expected, table in (
        ([str(2**63 + 1), str(2**64 - 1)], large),
        (["a", "b"], binary),
        (list(map(str, ids)), dict(zip(("src", "dst"), columns, strict=True))),
    ):
        pq.write_table(pa.table(table), tmp_path / "a.parquet")
        for ending in ("csv", "json", "gexf", "graphml", "arrow"):
            file = tmp_path / f"a.{ending}"
            convert(tmp_path / "a.parquet", file, overwrite=True)
            graph = mgraph.read_graph(file, backend="cpu", renumber=ending in ("csv", "arrow"))
            assert sorted(map(str, graph.labels)) == sorted(expected), ending


@pytest.mark.parametrize("names", [("head", "rel", "tail"), ("tail", "rel", "head")])
def test_heads_and_tails_in_the_order_of_columns(names, tmp_path):
    (tmp_path / "a.csv").write_text(f"{','.join(names)}\nUlm,in,Germany\n")
    graph = mgraph.read_graph(tmp_path / "a.csv", backend="cpu")
    assert [graph.labels[v] for (v,) in graph.to_edges()] == ["Ulm", "Germany"]


def test_names_with_spaces_and_commas_in_questions(tmp_path, capsys):
    pq.write_table(
        pa.table({"src": ["Smith, John", "c d"], "dst": ["c d", "e"]}), tmp_path / "a.parquet"
    )
    graph, quiet = str(tmp_path / "a.parquet"), ["--symmetrise", "-q"]
    for terminals in (['"Smith, John",e'], ['"Smith, John"', "e"], ['"Smith, John" "e"']):
        options = [word for each in terminals for word in ("--terminals", each)]
        assert main(["steiner", graph, *options, *quiet]) == 0
        assert "2 terminals: cost 2" in capsys.readouterr().out
    (tmp_path / "q.txt").write_text('"Smith, John" e # both ends\n"c d",e\n')
    arguments = ["steiner", graph, "--queries", str(tmp_path / "q.txt"), *quiet]
    assert main([*arguments, "--workers", "1", "--dashboard", "127.0.0.1:0"]) == 0
    assert "2 queries, 2 trees" in capsys.readouterr().out


def test_blanks_in_quotes_belong_to_ids(tmp_path):
    (tmp_path / "a.csv").write_text(
        'source,target,weight\n" a", b,"1"\n"a ",b ," 2"\na,"c,""d ",3\n'
    )
    convert(tmp_path / "a.csv", tmp_path / "a")
    ids = ["a", " a", "a ", "b", 'c,"d ']
    assert sorted(vertices_of(tmp_path / "a")["id"].to_pylist()) == sorted(ids)
    assert sorted(edges_of(tmp_path / "a")["weight"].to_pylist()) == [1, 2, 3]
    convert(tmp_path / "a", tmp_path / "b.csv")
    convert(tmp_path / "b.csv", tmp_path / "b")
    assert vertices_of(tmp_path / "b")["id"].to_pylist() == sorted(ids)
    (tmp_path / "c.csv").write_text('source,target\n" ",b\n')
    with pytest.raises(DatasetError, match="line 2: source must be a vertex"):
        convert(tmp_path / "c.csv", tmp_path / "c")


def test_a_header_of_other_names_with_a_column_of_numbers(tmp_path):
    """One of which is missing, so that the first line could be an edge, by its fields."""
    file = tmp_path / "a.csv"
    file.write_text("person,friend,hours\nAna,Bo,1.5\nBo,Cy,\n")
    words = "line 1 seems to name the columns, .* `src='person'`, `dst='friend'`, `weight='hours'`"
    with pytest.raises(mgraph.DatasetError, match=words):
        mgraph.read_graph(file, backend="cpu")
    named = {"src": "person", "dst": "friend", "weight": "hours"}
    with pytest.raises(mgraph.DatasetError, match="line 3: hours must be a number"):
        mgraph.read_graph(file, backend="cpu", **named)
    file.write_text(file.read_text().replace("Cy,", "Cy,2"))
    graph = mgraph.read_graph(file, backend="cpu", **named)
    assert graph.weights.tolist() == [1.5, 2]
