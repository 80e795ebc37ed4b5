"""The record of a cluster in the background: damaged, of another version, of another machine."""

import dataclasses
import json

import pytest

from mgraph.distributed.clusters import background_cluster as background
from mgraph.distributed.clusters.cluster_folder import ClusterFolder
from mgraph.distributed.clusters.cluster_status import status
from mgraph.errors import ClusterError


def test_a_cluster_of_another_machine_is_left_alone(tmp_path):
    home = ClusterFolder(str(tmp_path))
    plan = background._plan(home, "cpu", 1, 1, "127.0.0.1:0")
    home.write(dataclasses.replace(plan, host="elsewhere", state="running"))
    assert status(home.path).state == "elsewhere"
    for act in (background.stop, lambda folder: background.start(folder=folder, backend="cpu")):
        with pytest.raises(ClusterError, match="was started on elsewhere") as raised:
            act(home.path)
        assert f"gone for good, delete {tmp_path}/cluster.json" in str(raised.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scheduler": 1, "workers": 2}', "\0"])
def test_a_corrupt_record_is_an_error(tmp_path, text):
    (tmp_path / "cluster.json").write_text(text)
    for look in (status, background.stop):
        with pytest.raises(ClusterError, match="is not the record of a cluster"):
            look(tmp_path)
    assert background.running_scheduler_file(tmp_path) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": "x"}, {"count": True}, {"threads": 0}, {"state": 1}, {"dashboard": "here"},
        {"scheduler": {"pid": 1, "started": "x"}}, {"scheduler": {"pid": "1", "started": 1.0}},
        {"workers": {"pid": 1, "started": 10**400}}, {"workers": {"pid": -1, "started": 1.0}},
        {"workers": "12"}, {"host": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_with_wrong_types_is_an_error(tmp_path, wrong):
    home = ClusterFolder(str(tmp_path))
    home.write(background._plan(home, "cpu", 1, 1, "127.0.0.1:0"))
    assert status(tmp_path).state == "stopped"
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | wrong))
    for look in (status, background.stop):
        with pytest.raises(ClusterError, match="is not the record of a cluster"):
            look(tmp_path)


def test_a_record_of_a_newer_mgraph_is_read(tmp_path):
    home = ClusterFolder(str(tmp_path))
    home.write(background._plan(home, "cpu", 1, 1, "127.0.0.1:0"))
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"more": 1}))
    assert status(tmp_path).state == "stopped"
