"""Records of a newer minor version are read, and their unknown fields are written back."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, DatasetError, StorageError
from mgraph.cli.main import main
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord
from mgraph.io.owner import owner_json, parse_owner, this_process
from mgraph.io.record_fields import MAX_DEPTH
from mgraph.io.run_folder import RunFolder, RunRecord, new_id, now

PART = PartRecord("part-00000.parquet", 6, 0, 4, (1 << 64) - 1, 100)
MANIFEST = Manifest({"n": 6, "d": 4}, 6, 6, "int32", "lz4", (PART,), "mgraph test")
OWNER = this_process("mgraph generate", ("20260101-000000-aaaa", 3), claims=False)
WHERE = {"by": "me@here", "cwd": "/", "scheduler": "tcp://a:1", "scheduler_id": "Scheduler-1"}
RECORD = RunRecord(new_id(), "s.py", ["-n", "7"], now(), **WHERE, mgraph="0")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
TAKEN = {
    each.name for kind in (PART, MANIFEST, OWNER, RECORD) for each in dataclasses.fields(kind)
} | {"format", "version", "m"}
UNKNOWN = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name not in TAKEN)
    | st.sampled_from(["unknown", "extra", "\x1b[2J"]),
    VALUES,
    max_size=4,
)
VERSIONS = st.sampled_from([1, "1.0", "1.1", "1.27"])
OTHER_VERSIONS = [2, 0, "2.0", "0.9", "1", "1.x", "1.1.1", 1.1, True, [1], {}, "", "1.9\n"]


def with_fields(content, version, unknown):
    return content | unknown | {"version": version}


@settings(deadline=None, max_examples=50)
@given(version=VERSIONS, unknown=UNKNOWN, of_part=UNKNOWN)
def test_a_manifest_keeps_fields_that_are_not_known(tmp_path_factory, version, unknown, of_part):
    folder = Folder(tmp_path_factory.mktemp("dataset"))
    content = with_fields(MANIFEST.to_json(), version, unknown)
    content["parts"] = [content["parts"][0] | of_part]
    folder.write(manifests.NAME, json.dumps(content).encode())
    found = manifests.read(folder)
    assert found == MANIFEST
    dataclasses.replace(found, created_by="another").write(folder)
    assert json.loads(folder.read(manifests.NAME)) == content | {"created_by": "another"}


@settings(deadline=None, max_examples=50)
@given(version=VERSIONS, unknown=UNKNOWN)
def test_an_owner_s_file_keeps_fields_that_are_not_known(version, unknown):
    content = with_fields(json.loads(owner_json(OWNER)), version, unknown)
    found = parse_owner(json.dumps(content).encode())
    assert found == OWNER
    assert json.loads(owner_json(dataclasses.replace(found, pid=7))) == content | {"pid": 7}


@settings(deadline=None, max_examples=50)
@given(version=VERSIONS, unknown=UNKNOWN)
def test_the_record_of_a_run_keeps_fields_that_are_not_known(tmp_path_factory, version, unknown):
    folder = RunFolder(tmp_path_factory.mktemp("runs"), RECORD.id)
    folder.create(RECORD, {"s.py": b"pass"})
    content = with_fields(folder.record().to_json(), version, unknown)
    folder.write("run.json", content)
    assert folder.update(state="running", pid=7) is not None
    changed = content | {"state": "running", "pid": 7}
    assert json.loads((folder.path / "run.json").read_text()) == changed
    assert dataclasses.replace(folder.record(), folder="", state="submitted", pid=None) == RECORD


def test_records_of_earlier_versions_of_mgraph_have_no_version(tmp_path):
    content = json.loads(owner_json(OWNER))
    del content["version"]
    assert parse_owner(json.dumps(content).encode()) == OWNER
    content = RECORD.to_json()
    del content["version"]
    assert RunRecord.from_json(content, "run.json") == RECORD


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_another_major_version_is_refused(tmp_path, version):
    words = "its version is not 1; a newer mgraph wrote it"
    folder = Folder(tmp_path)
    folder.write(manifests.NAME, json.dumps(with_fields(MANIFEST.to_json(), version, {})).encode())
    with pytest.raises(DatasetError, match=words):
        manifests.read(folder)
    content = with_fields(json.loads(owner_json(OWNER)), version, {})
    with pytest.raises(ValueError, match=words):
        parse_owner(json.dumps(content).encode())
    with pytest.raises(StorageError, match=words):
        RunRecord.from_json(with_fields(RECORD.to_json(), version, {}), "run.json")


@pytest.mark.parametrize("depth", [1, MAX_DEPTH, MAX_DEPTH + 1, 900])
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_what_is_read_can_be_written_again(tmp_path, depth, brackets):
    begin, end = ("[", "]") if brackets == "[]" else ('{"a":', "}")
    value = json.loads(begin * (depth - 1) + brackets + end * (depth - 1))
    content = json.loads(owner_json(OWNER)) | {"more": value}
    if depth > MAX_DEPTH:
        with pytest.raises(ValueError, match="nested too deeply"):
            parse_owner(json.dumps(content).encode())
    else:
        assert json.loads(owner_json(parse_owner(json.dumps(content).encode()))) == content


def test_commands_read_a_dataset_of_a_newer_minor_version(tmp_path, capsys):
    edges = CopyModel(50, 2).edges(backend="cpu").edges
    mgraph.write_graph(mgraph.from_edges(edges, directed=False, backend="cpu"), tmp_path / "g")
    file = tmp_path / "g" / manifests.NAME
    content = json.loads(file.read_text()) | {"version": "1.7", "\x1b[2J": ["\x1b[2J"]}
    content["parts"] = [part | {"compressed": 5} for part in content["parts"]]
    file.write_text(json.dumps(content))
    for arguments in (["info", str(tmp_path / "g")], ["info", str(tmp_path / "g"), "--json"]):
        assert main(arguments) == 0
        assert "\x1b" not in capsys.readouterr().out
    assert mgraph.read_graph(tmp_path / "g", backend="cpu").num_edges == len(edges)
