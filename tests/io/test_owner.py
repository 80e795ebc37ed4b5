"""An owner's file, and whether its process still exists."""

import dataclasses
import json
import os

import pytest

from mgraph import UsageError
from mgraph.io import owner as owners
from mgraph.io.folder import Folder
from mgraph.io.owner import Owner, owner_json, parse_owner, this_process
from mgraph.io.ownership import owning
from tests.io.left_owners import gone, leave


def test_an_owner_survives_a_round_trip_and_other_content_is_refused():
    owner = this_process("mgraph generate", ("20260101-000000-aaaa", 3), claims=True)
    assert parse_owner(owner_json(owner)) == owner
    more = json.loads(owner_json(owner)) | {"surprise": 1}
    assert parse_owner(json.dumps(more).encode()) == owner
    for name, value in {"pid": "7", "claims": 1, "host": None, "token": "x"}.items():
        with pytest.raises(ValueError, match=rf"Expected .* - at `\$\.{name}`"):
            parse_owner(json.dumps(more | {name: value}).encode())
    assert "\x1b" not in parse_owner(json.dumps(more | {"host": "a\x1b[2J"}).encode()).host


def test_an_owner_of_unknown_machine_is_judged_by_heartbeats():
    unknown = Owner(token="0" * 32)
    assert not unknown.is_dead(59, None)
    assert unknown.is_dead(61, None)
    assert not dataclasses.replace(unknown, pid=1).is_of_this_machine


def test_a_hidden_process_of_another_user_is_judged_by_heartbeats(tmp_path, monkeypatch):
    place = str(tmp_path / "g")
    parent = os.getppid()
    leave(place, dataclasses.replace(gone(), pid=parent, started=1))

    def hidden(pid, number):
        assert (pid, number) == (parent, 0)
        raise PermissionError

    real = open
    monkeypatch.setattr(
        owners,
        "open",
        lambda name, *more, **options: real(
            "/nothing" if name == f"/proc/{parent}/stat" else name, *more, **options
        ),
        raising=False,
    )
    monkeypatch.setattr(os, "kill", hidden)
    with pytest.raises(UsageError, match="is being written"), owning(Folder(place), "x"):
        pass
    monkeypatch.setattr(owners, "DEAD_SECONDS", -5)
    with owning(Folder(place), "x"):
        pass
