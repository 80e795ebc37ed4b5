"""Owners that have left their files in a folder."""

import dataclasses
import os
import subprocess
import sys

from mgraph.io import ownership
from mgraph.io.folder import Folder
from mgraph.io.owner import owner_json, parse_owner, this_process


def leave(place, owner):
    """Put the file of an owner that ended without removing it."""
    folder = Folder(place)
    name = ownership.NAME
    if folder.is_remote:
        name = f"_owner-{owner.token}.json"
    else:
        os.makedirs(place, exist_ok=True)
    folder.write(name, owner_json(owner))
    return name


def elsewhere(**more):
    """An owner on another machine."""
    return dataclasses.replace(
        this_process("mgraph generate", None, claims=False), host="far", boot="another", **more
    )


def gone():
    """A process of this machine that has ended, as an owner."""
    code = (
        "import sys; from mgraph.io.owner import owner_json, this_process\n"
        "sys.stdout.buffer.write(owner_json(this_process('mgraph generate', None, False)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return parse_owner(done.stdout)
