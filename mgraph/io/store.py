"""Object stores: how one is opened, and calls into it that end in time.

PyArrow's calls into a store block inside C++, where Python runs no signal handler. So each runs in
a daemon thread, and its caller waits in Python: for ctrl-C, for the cancellation of a task, and for
the limit of time (the setting ``mgraph.store-timeout``). A call that its caller has given up ends
by itself, when the SDK has had its attempts. PyArrow would wait for that at the end of the process;
``exit_without_waiting`` is for a command that must not.
"""

import atexit
import configparser
import contextlib
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from mgraph.core import cancellation
from mgraph.errors import StorageError, UsageError
from mgraph.io import timeouts
from mgraph.io.address import Address

CONCURRENCY = 16  # requests to a store at once
ATTEMPTS = 5  # of a request; one that is not answered takes about 3 seconds
BYTES_PER_SECOND = 1 << 20  # what a store must take or give at least, beyond the limit of time
POLL_SECONDS = 0.1
CLEAN_UP_SECONDS = 2.0  # for what is done after a failure or an interrupt

_abandoned: list[threading.Thread] = []


class _Hurry(threading.local):
    seconds: float | None = None


_hurry = _Hurry()

T = TypeVar("T")
R = TypeVar("R")


def open_store(address: Address) -> Any:
    """PyArrow's file system for an S3 address. Blocks: use ``call``."""
    from pyarrow import fs

    options = dict(address.options)
    if "endpoint_override" not in options and (endpoint := configured_endpoint()):
        scheme, _, host = endpoint.rpartition("://")
        options |= {"endpoint_override": host.rstrip("/")} | ({"scheme": scheme} if scheme else {})
    if "region" not in options and "endpoint_override" not in options:
        options["region"] = fs.resolve_s3_region(address.path.partition("/")[0])
    retry = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    return fs.S3FileSystem(retry_strategy=retry, **options)


def endpoint_of(address: Address) -> str:
    """The endpoint that answers for an S3 address, for messages."""
    given = address.options.get("endpoint_override") or configured_endpoint()
    return given or f"Amazon S3, {address.options.get('region', 'the region of the bucket')}"


def configured_endpoint() -> str | None:
    """The S3 endpoint that the environment or the AWS configuration file names, if any."""
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        return None
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if os.environ.get(name):
            return _checked_endpoint(os.environ[name], name)
    file = os.environ.get("AWS_CONFIG_FILE") or os.path.expanduser("~/.aws/config")
    config = configparser.RawConfigParser(allow_no_value=True, strict=False)
    try:
        with open(file, encoding="utf-8") as stream:
            config.read_file(stream)
    except (configparser.Error, OSError, UnicodeDecodeError):  # the SDK reads it, or says why not
        return None
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    section = "default" if name == "default" else f"profile {name}"
    if not config.has_section(section):
        return None
    profile = config[section]
    if (profile.get("ignore_configured_endpoint_urls") or "").lower() == "true":
        return None
    services = f"services {profile.get('services')}"
    of_s3 = config[services].get("s3") if config.has_section(services) else None
    nested = re.search(r"^\s*endpoint_url\s*=\s*(\S+)", of_s3 or "", re.MULTILINE)
    found = nested[1] if nested else profile.get("endpoint_url")
    return _checked_endpoint(found, file) if found else None


def _checked_endpoint(endpoint: str, source: str) -> str:
    scheme, separator, host = endpoint.rpartition("://")
    if not host.strip("/") or (separator and scheme not in ("http", "https")):
        raise UsageError(
            f"An S3 endpoint must be a URL, as https://host:9000 (got {endpoint!r} from {source})."
        )
    return endpoint


def call(function: Callable[[], R], address: Address, size: int = 0) -> R:
    """What a function that calls into a store returns. size: bytes that it sends or receives.

    Raises StorageError where the store has not answered within the limit of time.
    """
    return call_each(lambda _: function(), [None], address, size)[0]


def call_each(
    function: Callable[[T], R], items: Iterable[T], address: Address, size: int = 0
) -> list[R]:
    """``function(item)`` for each item, several at a time; the results in the order of the items.

    The limit of time is that of each call, so that there may be any number of items.
    """
    items = list(items)
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(items)):
        waiting.put(index)
    finished: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    is_over = threading.Event()

    def work() -> None:
        while not is_over.is_set():
            try:
                index = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((index, function(items[index]), None))
            except BaseException as error:
                finished.put((index, None, error))

    count = min(len(items), CONCURRENCY)
    threads = [
        threading.Thread(target=work, daemon=True, name="mgraph-store") for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    results: list[Any] = [None] * len(items)
    try:
        for _ in items:
            index, result, error = _next_result(finished, address, size)
            if error is not None:
                raise error
            results[index] = result
    except BaseException:
        is_over.set()
        _abandoned.extend(thread for thread in threads if thread.is_alive())
        raise
    return results


@contextlib.contextmanager
def cleaning_up(seconds: float | None = None) -> Iterator[None]:
    """For cleaning up: calls of this thread have a few seconds, also when it is cancelled."""
    before, _hurry.seconds = _hurry.seconds, seconds or CLEAN_UP_SECONDS
    try:
        with cancellation.cancelled_when(lambda: False):
            yield
    finally:
        _hurry.seconds = before


def _next_result(finished: Any, address: Address, size: int) -> Any:
    """What a call has given; waits for it, so that signal handlers run meanwhile."""
    seconds = (_hurry.seconds or timeouts.store_seconds()) + size / BYTES_PER_SECOND
    deadline = time.monotonic() + seconds
    while True:
        cancellation.raise_if_cancelled()
        try:
            return finished.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if time.monotonic() > deadline:
                raise StorageError(
                    f"The store at {endpoint_of(address)} has not answered within {seconds:.3g} s "
                    f"(for {address.text}): see that it is up and can be reached from here, or "
                    "raise the setting mgraph.store-timeout."
                ) from None


def exit_without_waiting(status: int) -> None:
    """Have the process end with a status, also while calls that were given up have not ended."""
    _abandoned[:] = [thread for thread in _abandoned if thread.is_alive()]
    if _abandoned:
        atexit.register(_exit_now, status)  # runs before what was registered earlier, as PyArrow's


def _exit_now(status: int) -> None:
    if any(thread.is_alive() for thread in _abandoned):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                status = status or 1
        os._exit(status)
