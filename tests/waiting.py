"""Waiting for what other processes do."""

import time


def wait_until(what, seconds=60):
    """What a function returns, as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"{what} is still {found!r} after {seconds} s"
        time.sleep(0.02)
    return found
