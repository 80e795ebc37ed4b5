"""Files of unknown origin lead nowhere out of their folder, and damaged ones give one sentence."""

import io
import json
import os

import pytest

import mgraph
from mgraph import CopyModel, DatasetError, UsageError
from mgraph.cli.main import main
from mgraph.distributed.operations.spanning_forest_plan import read_done
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.graph_reader import read_graph

HUGE = 10**400
NAMES = [
    "../outside.parquet", "..", ".", "", "/etc/passwd", "a/b.parquet", "a\\b.parquet",
    "..\\outside.parquet", "part\0.parquet", "part\n.parquet", ".hidden", "-rf", "~", "x" * 300,
    "s3://bucket/x", "C:x", "\ud800", "part\u202e.parquet", 7, None, ["part-00000.parquet"], {},
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """A dataset of 300 edges, and its manifest."""
    out = tmp_path_factory.mktemp("graph") / "g"
    edges = CopyModel(103, 3).edges(backend="cpu").edges
    made = mgraph.from_edges(edges, 103, directed=False, backend="cpu")
    mgraph.write_graph(made, out)
    return out, json.loads((out / manifests.NAME).read_text())


@pytest.fixture
def damaged(graph, tmp_path):
    """A function that copies the dataset with another manifest."""
    source, content = graph

    def copy(text):
        out = tmp_path / "copy"
        out.mkdir()
        for file in source.glob("*.parquet"):
            (out / file.name).write_bytes(file.read_bytes())
        if callable(text):
            changed = json.loads(json.dumps(content))
            text(changed)
            text = json.dumps(changed)
        (out / manifests.NAME).write_text(text)
        return out

    return copy


def refused(location, capsys):
    """The sentence with which reading it, as a library and as a command, is refused."""
    with pytest.raises(DatasetError) as error:
        mgraph.open_dataset(location)
    assert main(["info", str(location)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("mgraph: ")
    assert said.isprintable() or said[:-1].isprintable()
    assert len(said) < 1000
    return str(error.value)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: f"{name!r:.20}")
def test_a_part_is_a_plain_name_in_its_folder(damaged, capsys, name):
    out = damaged(lambda content: content["parts"][0].update(file=name))
    (out.parent / "outside.parquet").write_bytes((out / "part-00000.parquet").read_bytes())
    assert "a file must be a plain name in the folder" in refused(out, capsys)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(n="103"),
        lambda m: m.update(n=-1),
        lambda m: m.update(n=True),
        lambda m: m.update(n=1.5),
        lambda m: m.update(n=HUGE),
        lambda m: m.update(n=1 << 41),
        lambda m: m.update(n=1 << 40),  # ids are int32
        lambda m: m.update(m=None),
        lambda m: m.update(m=HUGE),
        lambda m: m.update(dtype="object"),
        lambda m: m.update(dtype=["int32"]),
        lambda m: m.update(weight_dtype="O"),
        lambda m: m.update(weight_dtype={}),
        lambda m: m.update(directed="no"),
        lambda m: m.update(model=[]),
        lambda m: m.update(compression=3),
        lambda m: m.update(created_by=None),
        lambda m: m.update(checksum=5),
        lambda m: m.update(checksum="-1"),
        lambda m: m.update(checksum="0x1"),
        lambda m: m.update(checksum="f" * 5000),
        lambda m: m.update(parts={}),
        lambda m: m.update(parts="part-00000.parquet"),
        lambda m: m.update(parts=[["part-00000.parquet"]]),
        lambda m: m.update(parts=[5]),
        lambda m: m.update(parts=m["parts"] * 2),
        lambda m: m.update(forest=[]),
        lambda m: m.update(forest={"of": "g"}),
        lambda m: m.update(forest={"of": 5, "total_weight": 5}),
        lambda m: m.update(forest={"of": "g", "total_weight": "5"}),
        lambda m: m["parts"][0].update(rows="300"),
        lambda m: m["parts"][0].update(rows=-300),
        lambda m: m["parts"][0].update(rows=HUGE),
        lambda m: m["parts"][0].update(rows=1 << 63),
        lambda m: m["parts"][0].update(first=-1),
        lambda m: m["parts"][0].update(first=9, stop=8),
        lambda m: m["parts"][0].update(stop=HUGE),
        lambda m: m["parts"][0].update(bytes=-1),
        lambda m: m["parts"][0].update(checksum=None),
        lambda m: m["parts"][0].pop("rows"),
        lambda m: m.pop("n"),
    ],
)
def test_wrong_types_and_numbers_give_one_sentence(damaged, capsys, change):
    assert "_manifest.json is damaged: " in refused(damaged(change), capsys)


@pytest.mark.parametrize(
    "text",
    ["[]", "5", "null", '"x"', "", "{", "\x00", "[" * 200_000, '{"a":' * 200_000, "9" * 9000],
    ids=lambda text: text[:5],
)
def test_a_damaged_manifest_gives_one_sentence(damaged, capsys, text):
    assert "_manifest.json is damaged: " in refused(damaged(text), capsys)


@pytest.mark.parametrize("kind", [5, None, ["x"], "\x1b[2J", "x" * 9000])
def test_another_format_is_named_and_shortened(damaged, capsys, kind):
    said = refused(damaged(lambda content: content.update(format=kind)), capsys)
    assert "and should hold 'mgraph edge list'" in said


def test_shown_text_has_no_control_characters(damaged, capsys):
    change = {"created_by": "\x1b[2Jme\n", "model": {}, "compression": "lz4\r"}
    out = damaged(lambda content: content.update(change))
    assert main(["info", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "made by" in shown


def test_a_record_with_too_many_rows_allocates_no_memory(damaged):
    def change(content):
        for part in content["parts"]:
            part["rows"] = (1 << 55) // len(content["parts"])
        content["m"] = sum(part["rows"] for part in content["parts"])

    out = damaged(change)
    with pytest.raises(DatasetError, match=r"should hold .* edges, and holds"):
        read_graph(out, backend="cpu")


def test_folders_accept_names_but_not_paths(tmp_path):
    folder = Folder(tmp_path)
    for name in ("../x", "/etc/passwd", "a/../../b", "a//b", "..", ".", "", "a\0b"):
        for use in (folder.read, folder.open, folder.size, folder.remove):
            with pytest.raises(DatasetError, match="not the name of a file"):
                use(name)
        with pytest.raises(DatasetError, match="not the name of a file"):
            folder.write(name, b"")


def test_a_link_is_read_but_replaced_when_written(damaged, tmp_path):
    """Whoever may write in a folder may link in it: reading follows, writing replaces the link."""
    out = damaged(lambda content: None)
    part, elsewhere = out / "part-00000.parquet", tmp_path / "elsewhere.parquet"
    part.rename(elsewhere)
    part.symlink_to(elsewhere)
    held = elsewhere.read_bytes()
    assert read_graph(out, backend="cpu").n == 103
    folder = Folder(out)
    folder.write(part.name, b"new")
    assert not part.is_symlink()
    assert elsewhere.read_bytes() == held
    part.unlink()
    part.symlink_to(elsewhere)
    folder.remove(part.name)
    assert elsewhere.read_bytes() == held


@pytest.mark.timeout(20)
def test_a_pipe_or_a_device_is_not_read(damaged, capsys):
    out = damaged(lambda content: None)
    part = out / "part-00000.parquet"
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(DatasetError, match="not a regular file"):
        read_graph(out, backend="cpu")
    part.unlink()
    part.symlink_to("/dev/zero")
    with pytest.raises(DatasetError, match="not a regular file"):
        read_graph(out, backend="cpu")
    (out / manifests.NAME).unlink()
    (out / manifests.NAME).symlink_to("/dev/zero")
    assert main(["info", str(out)]) == 1
    assert "not a regular file" in capsys.readouterr().err


BOMB = "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi"))  # noqa: B905
HEAD = '<?xml version="1.0"?>'
ROOT = '<graphml><graph edgedefault="directed"><node id="&i;"/></graph></graphml>'


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD}<!DOCTYPE g [<!ENTITY a "ha">{BOMB}]>{ROOT}',
        f'{HEAD}<!DOCTYPE g [<!ENTITY i SYSTEM "file:///etc/passwd">]>{ROOT}',
        f'{HEAD}<!DOCTYPE g [<!ENTITY % i SYSTEM "file:///etc/passwd"> %i;]>{ROOT}',
        f'{HEAD}<!--{"x" * 200_000}--><!DOCTYPE g [<!ENTITY i "i">]>{ROOT}',
    ],
    ids=["laughs", "file", "parameter", "late"],
)
def test_xml_defines_no_entities(tmp_path, text, ending):
    for encoding in ("utf-8", "utf-16"):
        file = tmp_path / f"g.{ending}"
        file.write_bytes(text.replace("?>", f' encoding="{encoding}"?>', 1).encode(encoding))
        with pytest.raises(DatasetError, match="defines the entity"):
            read_graph(file, backend="cpu")


def test_xml_with_a_document_type_alone_is_read(tmp_path):
    edges = CopyModel(9, 2).edges(backend="cpu").edges
    graph = mgraph.from_edges(edges, 9, directed=False, backend="cpu")
    file = tmp_path / "g.graphml"
    mgraph.write_graph(graph, file)
    head, _, rest = file.read_text().partition("?>")
    file.write_text(f'{head}?><!DOCTYPE graphml SYSTEM "http://nowhere.invalid/g.dtd">{rest}')
    assert read_graph(file, backend="cpu").num_arcs == graph.num_arcs


def test_json_that_nests_too_deeply_is_a_value_error():
    for text in ("[" * 300_000, '{"a":' * 300_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            untrusted.parse_json(text)


def test_other_peoples_parquet(tmp_path):
    """Column names and makers are shown, not obeyed."""
    import pyarrow as pa
    from pyarrow import parquet

    made = io.BytesIO()
    parquet.write_table(pa.table({"src": [0], "\x1b[2Jdst": [1]}), made)
    (tmp_path / "a.parquet").write_bytes(made.getvalue())
    with pytest.raises(DatasetError, match="must have columns src, dst"):
        read_graph(tmp_path, backend="cpu")


def rewritten(out, index, change):
    """Write a part of results again with another footer, and no manifest."""
    from pyarrow import parquet

    file = out / part_name(index)
    table = parquet.read_table(file)
    footer = json.loads(parquet.read_metadata(file).metadata[b"mgraph"]) | change
    parquet.write_table(table.replace_schema_metadata({"mgraph": json.dumps(footer)}), file)
    (out / manifests.NAME).unlink()


@pytest.mark.parametrize("packed", [5, [], [1, None], "x", None, {"a": 1}])
def test_results_with_unknown_footers_are_refused(tmp_path, packed, cluster):
    """Parts of results whose footers tell no result: refused in a sentence."""
    instance, out = tmp_path / "a.data", tmp_path / "out"
    instance.write_text("3 50\n60 10\n100 20\n120 30\n")
    mgraph.knapsack_many([instance], out, cluster=cluster, progress=None)
    rewritten(out, 0, {"packed": packed})
    with pytest.raises(DatasetError, match="do not hold their packed"):
        mgraph.knapsack_many([instance], out, cluster=cluster, resume=True, progress=None)


def test_parts_of_another_operation_are_not_taken_for_failures(tmp_path, cluster):
    instance, out = tmp_path / "a.data", tmp_path / "out"
    instance.write_text("3 50\n60 10\n100 20\n120 30\n")
    mgraph.generate(out, CopyModel(100, 3), cluster=cluster, parts=2, progress=None)
    (out / manifests.NAME).unlink()
    with pytest.raises(UsageError, match="holds parts of another dataset"):
        mgraph.knapsack_many([instance], out, cluster=cluster, resume=True, progress=None)
    assert len(list(out.glob("part-*"))) == 2


@pytest.mark.parametrize("batch", ["8", -1, HUGE, [8]], ids=["text", "negative", "huge", "list"])
def test_records_of_batches_are_not_trusted(tmp_path, graph, batch, cluster):
    out = tmp_path / "out"
    mgraph.sssp_many(graph[0], [0, 1], out=out, cluster=cluster, progress=None)
    rewritten(out, 0, {"batch": batch})
    with pytest.raises(UsageError, match="holds parts of another dataset"):
        mgraph.sssp_many(graph[0], [0, 1], out=out, cluster=cluster, resume=True, progress=None)


@pytest.mark.parametrize(
    "text", ["[]", "5", "{", '{"batches": 5}', '{"batches": [1, 0]}', '{"batches": ["a", 1]}']
)
def test_records_of_forest_runs_are_not_trusted(tmp_path, graph, text, cluster):
    out = tmp_path / "out"
    out.mkdir()
    (out / "_forests.json").write_text(text)
    with pytest.raises(DatasetError, match=r"_forests\.json is damaged"):
        mgraph.spanning_forest_dataset(graph[0], out, cluster=cluster, resume=True, progress=None)


@pytest.mark.parametrize("file", ["../part-00000.parquet", "part-00000.parquet", "_manifest.json"])
def test_a_forest_names_only_its_own_files(graph, tmp_path, file):
    record = graph[1]["parts"][0] | {"file": file}
    (tmp_path / "part-00000.parquet").write_bytes(b"x" * record["bytes"])
    (tmp_path / "_forest-0-00000-done.json").write_text(json.dumps([record]))
    names = set(os.listdir(tmp_path)) | {file}
    assert read_done(Folder(tmp_path), names, "_forest-0-00000-") is None


@pytest.mark.parametrize(
    "footer",
    [
        {"part": "0"}, {"part": HUGE}, {"part": None}, {"part": True}, {"checksum": 5},
        {"checksum": "x"}, {"parts": "4"}, {"parts": HUGE}, {"parts": -1}, {"parts": [1]},
        {"n": "100"},
    ],
)  # fmt: skip
def test_footers_are_not_trusted(tmp_path, footer, cluster):
    """A part that says nonsense is made again, or refused as another dataset's."""
    import numpy as np

    from mgraph.io.parquet import writing_part

    out, model = tmp_path / "g", CopyModel(100, 3)
    mgraph.generate(out, model, cluster=cluster, parts=2, progress=None)
    whole = mgraph.open_dataset(out).manifest.checksum
    description = mgraph.io.parquet.read_metadata(Folder(out), "part-00000.parquet")
    arrays = mgraph.open_dataset(out)[0].read()
    (out / manifests.NAME).unlink()
    with writing_part(Folder(out), "part-00000.parquet", model.columns, "lz4") as writer:
        writer.write([np.ascontiguousarray(column) for column in list(arrays)[:2]])
        description.pop("rows")
        writer.close(description | footer)
    if "checksum" not in footer:
        with pytest.raises(UsageError, match="holds parts of another dataset"):
            mgraph.generate(out, model, cluster=cluster, resume=True, progress=None)
        return
    made = mgraph.generate(out, model, cluster=cluster, resume=True, progress=None)
    assert (made.kept_parts, made.manifest.checksum) == (1, whole)
    assert mgraph.verify(out, cluster=cluster, progress=None).ok
