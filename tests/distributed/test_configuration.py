"""Settings from defaults, files, environment variables and programs; and invalid settings.

Dask reads its files on import, so most tests start a process of their own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import dask
import pytest

from mgraph import UsageError
from mgraph.distributed.protocol import configuration
from mgraph.distributed.protocol.configuration import SETTINGS, get_setting, row, source_of

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}


@pytest.fixture
def run_config(tmp_path):
    """A function that runs ``mgraph config`` with a file and variables: status, output, error."""

    def run(*arguments, text=None, **variables):
        folder = tmp_path / "home" / ".config" / "dask"
        folder.mkdir(parents=True, exist_ok=True)
        if text is not None:
            (folder / "mgraph.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        found = subprocess.run(
            [sys.executable, "-m", "mgraph.cli.main", *(arguments or ["config", "--json"])],
            capture_output=True,
            text=True,
            check=False,
            env=CLEAN | {"HOME": str(tmp_path / "home")} | variables,
            cwd=tmp_path,
        )
        return found.returncode, found.stdout, found.stderr

    return run


def test_defaults_are_shown(run_config, tmp_path):
    status, out, error = run_config()
    assert (status, error) == (0, "")
    shown = json.loads(out)
    assert list(shown)[: len(SETTINGS)] == [f"mgraph.{key}" for key in SETTINGS]
    assert {entry["from"] for entry in shown.values()} == {"default"}
    assert shown["mgraph.runs"]["value"] == str(tmp_path / "home" / ".mgraph" / "runs")
    assert shown["mgraph.cancel-grace"]["value"] == 3
    assert shown["scheduler-address"]["value"] is None


def test_a_variable_overrides_a_file_and_the_source_is_shown(run_config, tmp_path):
    text = "mgraph:\n  cancel_grace: 7\n  monitor:\n    interval: 2\nscheduler-address: tcp://a:1\n"
    _, out, _ = run_config(
        text=text, DASK_MGRAPH__MONITOR__INTERVAL="0.5", DASK_MGRAPH__RUNS="$HOME/r"
    )
    shown = json.loads(out)
    file = f"file {tmp_path}/home/.config/dask/mgraph.yaml"
    assert shown["mgraph.cancel-grace"] == {"value": 7, "from": file}
    variable = "environment variable DASK_MGRAPH__MONITOR__INTERVAL"
    assert shown["mgraph.monitor.interval"] == {"value": 0.5, "from": variable}
    assert shown["mgraph.monitor.history"] == {"value": 3600, "from": "default"}
    assert shown["mgraph.runs"]["value"] == str(tmp_path / "home" / "r")
    assert shown["scheduler-address"] == {"value": "tcp://a:1", "from": file}
    _, out, _ = run_config("config", DASK_MGRAPH="{'monitor': {'history': 60}, 'dashboard': None}")
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines()}
    assert lines["mgraph.monitor.history"] == ["60", "environment variable DASK_MGRAPH"]
    assert lines["mgraph.dashboard"] == ["127.0.0.1:8787", "default"]
    assert lines["mgraph.cancel-grace"] == ["7", file]


@pytest.mark.parametrize("text", ["", "mgraph:\n", "mgraph:\n  monitor:\n  runs:\n", "# nothing\n"])
def test_an_empty_setting_counts_as_not_set(run_config, text):
    assert run_config("config", "monitor.interval", text=text) == (0, "1\n", "")


@pytest.mark.parametrize(
    ("text", "variables", "words"),
    [
        ("mgraph: [runs]", {}, "mgraph in Dask's configuration must be a mapping of settings"),
        ("mgraph: 5", {}, "must be a mapping of settings, such as runs (got 5 from file "),
        ("mgraph: {monitor: 5}", {}, "mgraph.monitor in Dask's configuration must be a mapping"),
        ("mgraph: {monitor: [1]}", {}, "must be a mapping of settings, such as interval (got [1]"),
        ("mgraph: {cancel-grce: 5}", {}, "did you mean mgraph.cancel-grace?"),
        ("mgraph: {monitor: {intervall: 5}}", {}, "did you mean mgraph.monitor.interval?"),
        ("mgraph: {zzz: 5}", {}, "there is no setting mgraph.zzz (from file "),
        ("mgraph: {runs: {a: 5}}", {}, "there is no setting mgraph.runs.a"),
        ("mgraph: {1: 5}", {}, "Dask's configuration cannot be read"),
        ("mgraph:\n  runs: [a\n b: c", {}, "mgraph.yaml' is malformed: while parsing"),
        ("- a\n", {}, "mgraph.yaml' is malformed - config files must have a dict"),
        (b"\xff\xfe\x00", {}, "mgraph.yaml' is malformed"),
        ("mgraph: {runs: 5}", {}, "mgraph.runs must be a folder on this machine"),
        ("mgraph: {runs: runs}", {}, "whose path begins with / or ~ (got 'runs' from file "),
        ("mgraph: {runs: 's3://a/b'}", {}, "must be a folder on this machine"),
        ('mgraph: {cluster: "/a\\nb"}', {}, "mgraph.cluster must be a folder on this machine"),
        (None, {"DASK_MGRAPH__RUNS": ""}, "(got '' from environment variable DASK_MGRAPH__RUNS"),
        (None, {"DASK_MGRAPH__CANCEL_GRACE": "soon"}, "number of seconds from 0 to 3,600"),
        (None, {"DASK_MGRAPH__CANCEL_GRACE": "-1"}, "(got -1 from environment variable DASK_"),
        (None, {"DASK_MGRAPH__CANCEL_GRACE": "True"}, "(got True from"),
        (None, {"DASK_MGRAPH__CANCEL_GRACE": "1e999"}, "(got inf from"),
        ("mgraph: {monitor: {interval: 0}}", {}, "number of seconds from 0.1 to 3,600 (got 0"),
        ("mgraph: {monitor: {history: .nan}}", {}, "from 1 to 604,800 (got nan"),
        ("mgraph: {dashboard: 8787}", {}, "must be an address HOST:PORT, as 127.0.0.1:8787 (got"),
        ("mgraph: {dashboard: 'localhost:99999'}", {}, "(got 'localhost:99999' from file"),
        (None, {"DASK_MGRAPH_RUNS": "/r"}, "two underscores stand for a dot, as in DASK_"),
        (None, {"DASK_MGRAPH": "5", "DASK_MGRAPH__RUNS": "/r"}, "Dask's configuration"),
    ],
)  # fmt: skip
def test_an_invalid_setting_is_one_sentence(run_config, text, variables, words):
    status, out, error = run_config(text=text, **variables)
    assert (status, out) == (2, "")
    assert words in error
    assert error.startswith("mgraph: ")
    assert error.count("\n") == 1


def test_a_corrupt_file_stops_other_verbs_before_they_start(run_config, tmp_path):
    generate = ["generate", "g", "-n", "99", "--backend", "cpu"]
    status, _, error = run_config(*generate, text="mgraph: [a")
    assert status == 2
    assert "mgraph.yaml' is malformed" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "g").exists()


def test_keys_are_not_shown(run_config):
    secret = "-----BEGIN PRIVATE KEY-----\\nMIIsecret\\n"
    text = f'distributed: {{comm: {{tls: {{client: {{key: "{secret}", cert: /c.pem}}}}}}}}\n'
    for arguments in (["config"], ["config", "--json"], ["config", OF_CLIENT]):
        status, out, error = run_config(*arguments, text=text)
        assert (status, error) == (0, "")
        assert "(given as text, not shown)" in out
        assert "secret" not in out
    assert run_config("config", OF_CLIENT.replace("key", "cert"))[1] == "/c.pem\n"


OF_CLIENT = "distributed.comm.tls.client.key"


def test_a_setting_is_found_with_and_without_its_prefix(run_config):
    assert run_config("config", "cancel-grace") == (0, "3\n", "")
    assert run_config("config", "mgraph.cancel-grace") == (0, "3\n", "")
    assert run_config("config", "scheduler-address") == (0, "\n", "")
    status, _, error = run_config("config", "cancel-grase")
    assert status == 2
    assert "did you mean mgraph.cancel-grace?" in error


def test_settings_in_a_program():
    assert get_setting("cancel-grace") == 3
    assert isinstance(get_setting("runs"), Path)
    assert dask.config.get("mgraph.monitor.interval") == 1
    with dask.config.set({"mgraph.cancel_grace": 0.5, "mgraph.monitor": {"history": 9}}):
        assert get_setting("cancel-grace") == 0.5
        assert get_setting("monitor.history") == 9
        assert get_setting("monitor.interval") == 1
        assert source_of("mgraph.cancel-grace") == "dask.config.set"
    assert row("cancel-grace") == ("mgraph.cancel-grace", 3, "default")
    for wrong in ({"mgraph": 5}, {"mgraph.cancel-grace": "5"}, {"mgraph.cancle-grace": 5}):
        with dask.config.set(wrong), pytest.raises(UsageError, match=r"dask\.config\.set"):
            get_setting("cancel-grace")
    with pytest.raises(UsageError, match="mgraph config lists"):
        get_setting("nothing")


def test_the_first_use_may_be_inside_a_block(run_config):
    code = """if True:
        import dask
        from mgraph.distributed.protocol.configuration import get_setting
        with dask.config.set({"mgraph.runs": "/r"}):
            print(get_setting("runs"), get_setting("cancel-grace"))
        print(get_setting("runs").name, get_setting("cancel-grace"))
        dask.config.refresh()
        print(get_setting("runs").name, dask.config.get("mgraph.cancel-grace"))
    """
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=CLEAN
    )
    assert found.stdout == "/r 3\nruns 3\nruns 3\n"


def test_a_workers_process_has_its_parents_settings():
    """Dask hands its configuration on to the processes of workers."""
    inherited = dask.config.serialize({"mgraph": {"cancel-grace": 9}})
    code = """if True:
        from mgraph.distributed.protocol.configuration import row
        print(row("cancel-grace").value, row("cancel-grace").source)
    """
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=CLEAN | {"DASK_INTERNAL_INHERIT_CONFIG": inherited},
    )
    assert found.stdout == "9 environment variable DASK_INTERNAL_INHERIT_CONFIG\n"


def test_every_default_is_checked_and_every_setting_has_one():
    assert dict(configuration._leaves(configuration.defaults())).keys() == SETTINGS.keys()


@pytest.mark.parametrize("variables", [{}, {"DASK_MGRAPH__RUNS": "/elsewhere"}])
def test_the_runs_folder_is_known_without_dask(tmp_path, variables):
    code = """if True:
        import sys
        from mgraph.distributed.protocol.configuration import runs_folder
        print(runs_folder(), "dask" in sys.modules)
    """
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=CLEAN | {"HOME": str(tmp_path), "DASK_ROOT_CONFIG": str(tmp_path / "none")} | variables,
    )
    quick = f"{tmp_path}/.mgraph/runs False\n"
    assert found.stdout == ("/elsewhere True\n" if variables else quick)
