"""Waiting for what other processes do."""

import contextlib
import json
import time


def wait_until(what, seconds=60, every=0.02):
    """What a function returns, as soon as that is true. every: seconds between two calls."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"{what} is still {found!r} after {seconds} s"
        time.sleep(every)
    return found


def wait_for_json(file, process=None, seconds=60):
    """What a JSON file says, once it is whole: another process makes it first, then fills it.

    process: the one that writes; its end is an error.
    """

    def content():
        assert process is None or process.poll() is None, f"the writer of {file} has ended"
        with contextlib.suppress(FileNotFoundError, ValueError):
            return json.loads(file.read_text())

    return wait_until(content, seconds)
