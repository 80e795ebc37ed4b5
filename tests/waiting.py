"""Waiting for what other processes do."""

import time


def wait_until(what, seconds=60, every=0.02):
    """What a function returns, as soon as that is true. every: seconds between two calls."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"{what} is still {found!r} after {seconds} s"
        time.sleep(every)
    return found
