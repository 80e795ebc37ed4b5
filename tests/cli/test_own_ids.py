"""From a user's table to answers in the user's own ids."""

import csv

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph.cli.main import main

SIDE = 9


def road_network():
    """Crossings with 64-bit ids and coordinates, and streets between them, as in an extract."""
    random = np.random.default_rng(3)
    ids = random.choice(1 << 40, SIDE * SIDE, replace=False).astype(np.int64) + (1 << 33)
    place = {}
    streets = []
    for i in range(SIDE):
        for j in range(SIDE):
            here = int(ids[i * SIDE + j])
            place[here] = 48 + i / 100, 9 + j / 100
            others = [(i, j + 1)] * (j + 1 < SIDE) + [(i + 1, j)] * (i + 1 < SIDE)
            streets += [
                (here, int(ids[k * SIDE + m]), int(random.integers(50, 500))) for k, m in others
            ]
    random.shuffle(streets)
    return place, streets


@pytest.fixture(scope="module")
def extract(tmp_path_factory):
    """A folder with ways.csv and nodes.csv, the dataset that is made of them, and the graph."""
    folder = tmp_path_factory.mktemp("extract")
    place, streets = road_network()
    with open(folder / "ways.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["way", "from_node", "to_node", "length", "name"])
        for i, (u, v, length) in enumerate(streets):
            writer.writerow([7_000_000_000 + i, u, v, length, f"Straße {i}, Nord"])
    with open(folder / "nodes.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["osm_id", "lat", "lon"])
        writer.writerows([node, *where] for node, where in place.items())
    command = [
        "convert", str(folder / "ways.csv"), str(folder / "roads"), "--src", "from_node",
        "--dst", "to_node", "--weight", "length", "--symmetrise",
        "--vertices", str(folder / "nodes.csv"), "-q",
    ]  # fmt: skip
    assert main(command) == 0
    graph = networkx.Graph()
    graph.add_weighted_edges_from(streets)
    return folder, graph


def read(folder, pattern="part-*.parquet"):
    return pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob(pattern))])


def test_the_dataset(extract, capsys):
    folder, graph = extract
    vertices = read(folder / "roads", "_vertices-*.parquet")
    assert vertices.column_names == ["vertex", "id", "lat", "lon"]
    assert vertices["id"].to_pylist() == sorted(graph.nodes)
    parts = read(folder / "roads")
    assert parts.column_names == ["src", "dst", "weight", "way", "name"]
    assert "Straße 0, Nord" in parts["name"].to_pylist()
    assert main(["info", str(folder / "roads")]) == 0
    out = capsys.readouterr().out
    assert f"vertices   {SIDE * SIDE}" in out
    assert "own ids    int64, with lat, lon" in out
    assert main(["verify", str(folder / "roads"), "-q"]) == 0


@pytest.mark.parametrize("location", ["roads"])
def test_a_path_between_own_ids(extract, capsys, location):
    folder, graph = extract
    source, target = sorted(graph.nodes)[0], sorted(graph.nodes)[-1]
    command = ["sssp", str(folder / location), "--source", str(source), "--target", str(target)]
    assert main([*command, "--path"]) == 0
    out = capsys.readouterr().out
    length = networkx.dijkstra_path_length(graph, source, target)
    assert f"target {target}: at {length:,}" in out
    path = [int(line.split(":")[0]) for line in out.splitlines() if line.startswith("  ")]
    assert (path[0], path[-1]) == (source, target)
    assert networkx.path_weight(graph, path, "weight") == length
    assert main(["sssp", str(folder / location), "--source", "5"]) == 2
    assert "none is '5'" in capsys.readouterr().err
    number = ["sssp", str(folder / location), "--source", "0", "--ids", "number"]
    assert main(number) == 0
    assert f"source 0 ({source}): " in capsys.readouterr().out


def test_searches_from_files_of_own_ids(extract, tmp_path):
    folder, graph = extract
    sources = sorted(graph.nodes)[::20]
    (tmp_path / "sources.txt").write_text("\n".join(map(str, sources)))
    command = ["sssp", str(folder / "roads"), "--sources", str(tmp_path / "sources.txt"), "-q"]
    assert main([*command, "--out", str(tmp_path / "paths")]) == 0
    table = read(tmp_path / "paths")
    for source in sources:
        rows = table.filter(pa.compute.equal(table["source"], source)).to_pylist()
        expected = networkx.single_source_dijkstra_path_length(graph, source)
        assert {row["vertex"]: row["distance"] for row in rows} == expected
        for row in rows:
            if row["predecessor"] is None:
                assert row["vertex"] == source
            else:
                step = graph.edges[row["predecessor"], row["vertex"]]["weight"]
                assert expected[row["predecessor"]] + step == row["distance"]
    assert main([*command, "--out", str(tmp_path / "numbers"), "--ids", "number"]) == 2
    (tmp_path / "sources.txt").write_text("0 5")
    assert main([*command, "--out", str(tmp_path / "numbers"), "--ids", "number"]) == 0
    assert set(read(tmp_path / "numbers")["source"].to_pylist()) == {0, 5}
    resumed = [*command, "--out", str(tmp_path / "numbers"), "--resume"]
    assert main([*resumed, "--ids", "number"]) == 0


def check_tree(rows, graph, terminals):
    tree = networkx.Graph()
    for row in rows:
        assert graph.edges[row["src"], row["dst"]]["weight"] == row["weight"]
        tree.add_edge(row["src"], row["dst"])
    assert networkx.is_tree(tree)
    assert set(terminals) <= set(tree.nodes)


def test_steiner_trees_of_own_ids(extract, tmp_path, capsys):
    folder, graph = extract
    nodes = sorted(graph.nodes)
    terminals = [nodes[3], nodes[40], nodes[77]]
    names = ",".join(map(str, terminals))
    out = tmp_path / "tree.csv"
    assert main(["steiner", str(folder / "roads"), "--terminals", names, "--out", str(out)]) == 0
    with open(out) as stream:
        rows = [
            {"src": int(row["Source"]), "dst": int(row["Target"]), "weight": int(row["Weight"])}
            for row in csv.DictReader(stream)
        ]
    check_tree(rows, graph, terminals)
    assert f"cost {sum(row['weight'] for row in rows):,}" in capsys.readouterr().out
    queries = [terminals, [nodes[0], nodes[80]], nodes[10:14]]
    lines = [" ".join(map(str, query)) for query in queries]
    (tmp_path / "queries.txt").write_text("\n".join(lines))
    command = ["steiner", str(folder / "roads"), "--queries", str(tmp_path / "queries.txt"), "-q"]
    assert main([*command, "--out", str(tmp_path / "trees")]) == 0
    table = read(tmp_path / "trees")
    for i, query in enumerate(queries):
        check_tree(table.filter(pa.compute.equal(table["query"], i)).to_pylist(), graph, query)
    answers = pq.read_table(tmp_path / "trees" / "_queries.parquet")
    assert answers["terminals"].to_pylist() == [sorted(query) for query in queries]
    (tmp_path / "queries.txt").write_text("5 6")
    assert main([*command, "--out", str(tmp_path / "more")]) == 2
    assert "query 0: terminals must be ids" in capsys.readouterr().err


def test_forests_and_clusters_of_own_ids(extract, tmp_path):
    folder, graph = extract
    weight = networkx.minimum_spanning_tree(graph).size("weight")
    for name in ("forest", "forest.csv", "forest.graphml"):
        command = ["msf", str(folder / "roads"), "--out", str(tmp_path / name)]
        assert main([*command, *(["-q"] if name == "forest" else [])]) == 0
        forest = mgraph.read_graph(tmp_path / name, renumber=name.endswith("csv"), backend="cpu")
        labels = [int(label) for label in forest.labels]
        assert labels == sorted(graph.nodes)
        edges = forest.to_edges()
        total = sum(
            graph.edges[labels[u], labels[v]]["weight"]
            for u, v in zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
        )
        assert total == weight
    out = tmp_path / "clusters.parquet"
    assert main(["single-linkage", str(folder / "roads"), "-k", "3", "--out", str(out)]) == 0
    table = pq.read_table(out)
    assert table.column_names == ["vertex", "cluster"]
    assert table["vertex"].to_pylist() == sorted(graph.nodes)


def test_names_of_a_graph_file(tmp_path, capsys):
    networkx.write_graphml(networkx.path_graph(["x", "y", "z"]), tmp_path / "a.graphml")
    graph = str(tmp_path / "a.graphml")
    assert main(["sssp", graph, "--source", "x", "--target", "z"]) == 0
    assert "target z: at 2" in capsys.readouterr().out
    assert main(["steiner", graph, "--terminals", "x,z", "--backend", "cpu"]) == 0
    (tmp_path / "sources.txt").write_text("y, z")
    command = ["sssp", graph, "--sources", str(tmp_path / "sources.txt"), "-q"]
    assert main([*command, "--out", str(tmp_path / "paths")]) == 0
    assert set(read(tmp_path / "paths")["source"].to_pylist()) == {"y", "z"}
    assert main(["sssp", graph, "--source", "w"]) == 2
    assert "none is 'w'" in capsys.readouterr().err


def test_a_table_of_names_is_searched_as_it_is(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("from,to\nUlm,Bonn\nBonn,Jena\n")
    assert main(["sssp", str(tmp_path / "a.csv"), "--source", "Ulm", "--target", "Jena"]) == 0
    assert "target Jena: at 2" in capsys.readouterr().out


def test_a_graph_with_gaps_says_what_to_do(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("8278237827,15830\n")
    pq.write_table(pa.table({"src": [8278237827], "dst": [15830]}), tmp_path / "b.parquet")
    for name in ("a.csv", "b.parquet"):
        location = str(tmp_path / name)
        for command in (
            ["info", location],
            ["sssp", location, "--source", "15830"],
            ["msf", location, "--symmetrise"],
            ["steiner", location, "--terminals", "15830,8278237827"],
            ["single-linkage", location, "-k", "1", "--symmetrise"],
        ):
            assert main(command) in (1, 2)
            err = capsys.readouterr().err
            assert "ids are sparse, 2 distinct ones up to 8,278,237,827" in err, command
            assert f"mgraph convert {location} OUT" in err
        assert main(["convert", location, str(tmp_path / f"{name[0]}-out"), "-q"]) == 0
