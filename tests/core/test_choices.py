"""A misspelt name is refused with the nearest right one, before anything is read."""

import pytest

import mgraph
from mgraph import CopyModel, UsageError
from mgraph.cli.main import main
from mgraph.core.choices import check_choice


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("djikstra", "method must be one of dijkstra, near_far (got 'djikstra'; did you mean "
         "'dijkstra'?)."),
        ("x", "method must be one of dijkstra, near_far (got 'x')."),
        ("", "method must be one of dijkstra, near_far (got '')."),
        (None, "method must be one of dijkstra, near_far (got None)."),
        (["dijkstra"], "method must be one of dijkstra, near_far (got ['dijkstra'])."),
    ],
)  # fmt: skip
def test_the_message_for_a_value(value, expected):
    with pytest.raises(UsageError) as error:
        check_choice("method", value, ("dijkstra", "near_far"))
    assert str(error.value) == expected
    check_choice("method", "near_far", ("dijkstra", "near_far"))


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["sssp", "G", "--source", "0", "--method", "djikstra"], "dijkstra"),
        (["steiner", "G", "--terminals", "0,1", "--method", "mehlhron"], "mehlhorn"),
        (["steiner", "G", "--terminals", "0,1", "--search", "nodes"], "node"),
        (["msf", "G", "--method", "boruvca"], "boruvka"),
        (["sssp", "G", "--source", "0", "--backend", "gpus"], "gpu"),
        (["sssp", "G", "--sources", "S", "--method", "self-tuning"], "self_tuning"),
        (["verfy", "G"], "verify"),
        (["stauts"], "status"),
    ],
)
def test_commands_refuse_it_before_they_read(tmp_path, monkeypatch, capsys, arguments, nearest):
    edges = CopyModel(50, 2).edges(backend="cpu").edges
    mgraph.write_graph(mgraph.from_edges(edges, directed=False, backend="cpu"), tmp_path / "G")
    (tmp_path / "S").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mgraph.io.graph_reader.read_graph", lambda *_, **__: pytest.fail("it reads")
    )
    assert main(arguments) == 2
    message = capsys.readouterr().err.strip()
    assert f"did you mean '{nearest}'?" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["sssp", "G", "--source", "50"],
        ["sssp", "G", "--source", "0", "--target", "50"],
        ["sssp", "G", "--sources", "S", "--out", "O"],
        ["steiner", "G", "--terminals", "0,50"],
        ["steiner", "G", "--queries", "S", "--out", "O"],
    ],
)
def test_vertices_outside_a_dataset_are_refused_before_it_is_read(
    tmp_path, monkeypatch, capsys, arguments
):
    edges = CopyModel(50, 2).edges(backend="cpu").edges
    mgraph.write_graph(mgraph.from_edges(edges, directed=False, backend="cpu"), tmp_path / "G")
    (tmp_path / "S").write_text("1\n50\n")
    monkeypatch.chdir(tmp_path)
    for module in (
        "mgraph.io.graph_reader.read_graph",
        "mgraph.distributed.clusters.connect.connect",
    ):
        monkeypatch.setattr(module, lambda *_, **__: pytest.fail("it goes on"))
    assert main(arguments) == 2
    assert "must lie in [0, 50) (got 50)" in capsys.readouterr().err
    assert not (tmp_path / "O").exists()
