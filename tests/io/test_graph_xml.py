"""GraphML and GEXF: what Gephi, NetworkX and others write, and what they read."""

import contextlib
import warnings
import xml.etree.ElementTree as ElementTree

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, EdgeList, MgraphWarning, UsageError

GRAPHML = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}'
    '<graph edgedefault="{kind}">{content}</graph></graphml>'
)
GEXF = (
    '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph defaultedgetype="{kind}" '
    'mode="{mode}">{keys}<nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>'
)
WEIGHT = '<key id="w" for="edge" attr.name="weight" attr.type="{kind}">{default}</key>'


def graphml(content, keys="", kind="undirected"):
    return GRAPHML.format(content=content, keys=keys, kind=kind)


def gexf(edges, keys="", kind="undirected", mode="static", nodes="012"):
    listed = "".join(f'<node id="{node}"/>' for node in nodes)
    return GEXF.format(edges=edges, keys=keys, kind=kind, mode=mode, nodes=listed)


def edge(u, v, more="", data=None):
    content = "" if data is None else f'<data key="w">{data}</data>'
    return f'<edge source="{u}" target="{v}" {more}>{content}</edge>'


def read(folder, name, text):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return mgraph.read_graph(folder / name, backend="cpu")


def arcs(graph):
    """The graph's arcs as ``source, head, weight``, by label, sorted."""
    names = graph.labels or range(graph.n)
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    weights = [None] * graph.num_arcs if graph.weights is None else graph.weights.tolist()
    found = zip(rows.tolist(), graph.indices.tolist(), weights, strict=True)
    return sorted((str(names[u]), str(names[v]), weight) for u, v, weight in found)


GOOD = {
    "Gephi leaves out the weight 1": (
        "g.gexf",
        gexf(edge(0, 1, 'weight="2.0"') + edge(1, 2)),
        [("0", "1", 2), ("1", "0", 2), ("1", "2", 1), ("2", "1", 1)],
    ),
    "no edge has a weight": (
        "g.gexf", gexf(edge(0, 1), kind="directed"), [("0", "1", None)]
    ),
    "an edge says that it is directed": (
        "g.gexf",
        gexf(edge(0, 1, 'type="directed"') + edge(1, 2, 'type="undirected"'), kind="mixed"),
        [("0", "1", None), ("1", "2", None), ("2", "1", None)],
    ),
    "an undirected loop among arcs": (
        "g.gexf",
        gexf(edge(0, 1) + edge(2, 2, 'type="mutual"'), kind="directed"),
        [("0", "1", None), ("2", "2", None)],
    ),
    "a weight as an attribute of edges": (
        "g.gexf",
        gexf(
            '<edge source="0" target="1"><attvalues><attvalue for="7" value="3"/></attvalues>'
            '</edge><edge source="1" target="2"/>',
            '<attributes class="node"><attribute id="6" title="weight"/></attributes>'
            '<attributes class="edge"><attribute id="7" title="Weight"><default>5</default>'
            "</attribute></attributes>",
            "directed",
        ),
        [("0", "1", 3), ("1", "2", 5)],
    ),
    "nodes within nodes": (
        "g.gexf",
        gexf(edge("a", "b"), nodes="").replace(
            "<nodes>", '<nodes><node id="a"><nodes><node id="b"/></nodes></node>'
        ),
        [("a", "b", None), ("b", "a", None)],
    ),
    "the default of a key": (
        "g.graphml",
        graphml(
            '<node id="a"/><node id="b"/><node id="c"/>' + edge("a", "b", data=2) + edge("b", "c"),
            WEIGHT.format(kind="double", default="<default>1.0</default>"),
            "directed",
        ),
        [("a", "b", 2), ("b", "c", 1)],
    ),
    "numbers that are declared as text": (
        "g.graphml",
        graphml(edge(0, 1, data=" 2.5\n"), WEIGHT.format(kind="string", default=""), "directed"),
        [("0", "1", 2.5)],
    ),
    "a key without a name, and one without a type": (
        "g.graphml",
        graphml(
            edge(0, 1, data=9).replace('"w"', '"weight"'),
            '<key id="weight" for="edge"/><key id="d4" for="node" attr.name="x"/>',
            "directed",
        ),
        [("0", "1", 9)],
    ),
    "weights of nodes": (
        "g.graphml",
        graphml(
            '<node id="0"><data key="w">3</data></node>' + edge(0, 1),
            '<key id="w" for="node" attr.name="weight" attr.type="int"/>',
            "directed",
        ),
        [("0", "1", None)],
    ),
    "an edge says that it is undirected": (
        "g.graphml",
        graphml(edge(0, 1) + edge(1, 2, 'directed="false"'), kind="directed"),
        [("0", "1", None), ("1", "2", None), ("2", "1", None)],
    ),
    "whole numbers beyond a double's": (
        "g.graphml",
        graphml(
            edge(0, 1, data=2**53 + 1) + edge(1, 2, data=2**63 - 1) + edge(2, 0, data=-(2**63)),
            WEIGHT.format(kind="long", default=""),
            "directed",
        ),
        [("0", "1", 2**53 + 1), ("1", "2", 2**63 - 1), ("2", "0", -(2**63))],
    ),
    "infinity": (
        "g.graphml",
        graphml(edge(0, 1, data="inf"), WEIGHT.format(kind="double", default=""), "directed"),
        [("0", "1", np.inf)],
    ),
    "saved on Windows": (
        "g.graphml", b"\xef\xbb\xbf" + graphml(edge(0, 1)).replace("><", ">\r\n<").encode(),
        [("0", "1", None), ("1", "0", None)],
    ),
    "in UTF-16": (
        "g.graphml",
        '<?xml version="1.0" encoding="UTF-16"?>'.encode("utf-16")
        + graphml(edge("é", "z"), kind="directed").encode("utf-16")[2:],
        [("é", "z", None)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_files_of_other_programs(tmp_path, name):
    file, text, expected = GOOD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert arcs(read(tmp_path, file, text)) == sorted(expected)


ATTRIBUTE = '<attributes class="edge"><attribute id="weight" title="Weight"/></attributes>'
BAD = {
    "changes.gexf": (
        gexf(
            '<edge source="0" target="1"><attvalues><attvalue for="weight" value="3.0"/>'
            '<attvalue for="weight" value="5.0"/></attvalues></edge>',
            ATTRIBUTE,
            mode="dynamic",
        ),
        r"line 1: the weight of the edge from '0' to '1' changes in time \(3.0, 5.0\)",
    ),
    "comma.gexf": (gexf(edge(0, 1, 'weight="1,5"')), r"must be a number \(got '1,5'\)"),
    "kind.gexf": (gexf("", kind="both"), "edges are one of directed, undirected, .* 'both'"),
    "twice.gexf": (gexf("", nodes="00"), "two nodes '0'"),
    "source.gexf": (gexf('<edge target="1"/>'), "the edge has no source"),
    "some.graphml": (
        graphml(edge(0, 1, data=2) + edge(1, 2), WEIGHT.format(kind="int", default="")),
        "1 of 2 edges have a weight",
    ),
    "word.graphml": (
        graphml("\n" + edge(0, 1, data="true"), WEIGHT.format(kind="boolean", default="")),
        r"line 2: the weight of the edge from '0' to '1' must be a number \(got 'true'\)",
    ),
    "empty.graphml": (
        graphml(edge(0, 1, data=""), WEIGHT.format(kind="int", default="")), "must be a number",
    ),
    "rounded.graphml": (
        graphml(
            edge(0, 1, data=2**53 + 1) + edge(0, 1, data=0.5),
            WEIGHT.format(kind="double", default=""),
        ),
        "9,007,199,254,740,993 is no 64-bit float",
    ),
    "hyper.graphml": (graphml("<hyperedge/>"), "an edge of any number of nodes"),
    "nested.graphml": (graphml('<node id="a"><graph/></node>'), "a graph within a node"),
    "two.graphml": (graphml("").replace("</graphml>", "<graph/></graphml>"), "a second graph"),
    "none.graphml": ("<graphml/>", "no element graph"),
    "cut.gexf": (gexf("\n<edge"), "line 2 is not XML"),
    "words.gexf": ("not a graph", "line 1 is not XML"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_by_line(tmp_path, name):
    text, words = BAD[name]
    with pytest.raises(DatasetError, match=words) as error:
        read(tmp_path, name, text)
    assert name in str(error.value)


@pytest.mark.parametrize(
    "change", [('<edge source="0"', '<edge start="1" source="0"'), ("</edge>", "<spell/></edge>")]
)
def test_a_graph_that_changes_in_time_is_read_with_a_warning(tmp_path, change):
    with pytest.warns(MgraphWarning, match=r"g.gexf: nodes or edges that exist for a time"):
        graph = read(tmp_path, "g.gexf", gexf(edge(0, 1), mode="dynamic").replace(*change))
    assert graph.num_arcs == 2


@st.composite
def networkx_graphs(draw, finite):
    kinds = networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph
    made = draw(st.sampled_from(kinds))()
    names = draw(st.sampled_from([list(range(6)), ["a", "b c", "<&>", "é", '"', "17"]]))
    made.add_nodes_from(draw(st.permutations(names)))
    pairs = draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), min_size=1, max_size=8))
    whole, parts = (
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=not finite),
    )
    weights = draw(st.sampled_from([st.none(), whole, parts]))
    for u, v in pairs:
        weight = draw(weights)
        made.add_edge(u, v, **({} if weight is None else {"weight": weight}))
    return made


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_networkx_writes_is_read(name, tmp_path_factory, data):
    made = data.draw(networkx_graphs(finite="gexf" in name))
    folder = tmp_path_factory.mktemp("xml")
    write = networkx.write_graphml if "graphml" in name else networkx.write_gexf
    write(made, folder / name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MgraphWarning)
        found = mgraph.read_graph(folder / name, backend="cpu")
        expected = mgraph.from_networkx(made)
    assert arcs(found) == arcs(expected)
    assert found.directed == expected.directed


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_networkx_reads_what_is_written(name, tmp_path_factory, data):
    made = data.draw(networkx_graphs(finite="gexf" in name))
    file = tmp_path_factory.mktemp("xml") / name
    graph = mgraph.from_networkx(made)
    mgraph.write_graph(graph, file)
    reader = networkx.read_graphml if "graphml" in name else networkx.read_gexf
    found = mgraph.from_networkx(reader(file))
    assert arcs(found) == arcs(graph)
    ids = [element.get("id") for element in ElementTree.parse(file).iter() if "edge" in element.tag]
    ids = [number for number in ids if number is not None]
    assert len(set(ids)) == len(ids) == len(graph.to_edges())


def test_whole_numbers_that_gephi_would_round_are_refused(tmp_path):
    for weight in (2**53 + 1, -(2**53) - 1):
        edges = EdgeList([0], [1], np.array([weight]))
        graph = mgraph.from_edges(edges, backend="cpu")
        with pytest.raises(UsageError, match=r"at most 2\^53 in a GEXF file"):
            mgraph.write_graph(graph, tmp_path / "g.gexf")
        assert not list(tmp_path.glob("g.gexf*"))
        mgraph.write_graph(graph, tmp_path / f"{weight}.graphml")
        assert arcs(mgraph.read_graph(tmp_path / f"{weight}.graphml")) == [("0", "1", weight)]


@pytest.mark.parametrize("name", ["g.graphml", "g.gexf"])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damaged_files_are_refused_or_read(name, tmp_path_factory, data):
    text = {file: text for file, text, _ in GOOD.values()}[name]
    content = bytearray(text if isinstance(text, bytes) else text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content) - 1))
        stop = data.draw(st.integers(start, min(start + 9, len(content))))
        content[start:stop] = data.draw(st.binary(max_size=4))
    with warnings.catch_warnings(), contextlib.suppress(DatasetError):
        warnings.simplefilter("ignore", MgraphWarning)
        read(tmp_path_factory.mktemp("xml"), name, bytes(content))
