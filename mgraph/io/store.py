"""Object stores: opening one, and calls into it with a time limit.

PyArrow's calls into a store block inside C++, where Python runs no signal handler. So each call
runs in a daemon thread, and the caller waits in Python, where ctrl-C, the cancellation of a task
and the time limit (the setting ``mgraph.store-timeout``) end the wait. An abandoned call ends by
itself after the SDK's last retry. PyArrow would wait for it at the end of the process;
``exit_without_waiting`` is for a command that must not wait.
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

CONCURRENCY = 16  # concurrent requests to a store
ATTEMPTS = 5  # of a request; each takes about 3 seconds if it is not answered
BYTES_PER_SECOND = 1 << 20  # the minimum throughput, by which the time limit is extended
POLL_SECONDS = 0.1
CLEAN_UP_SECONDS = 2.0  # the time limit after a failure or an interrupt

_abandoned: list[threading.Thread] = []


class _CleanUp(threading.local):
    seconds: float | None = None  # the time limit while cleaning up


_clean_up = _CleanUp()

T = TypeVar("T")
R = TypeVar("R")


def open_store(address: Address) -> Any:
    """Return PyArrow's file system for an S3 address. This blocks: use ``call``."""
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
    """Return the endpoint of an S3 address, for messages."""
    endpoint = address.options.get("endpoint_override") or configured_endpoint()
    return endpoint or f"Amazon S3 ({address.options.get('region', 'in the region of the bucket')})"


def configured_endpoint() -> str | None:
    """Return the S3 endpoint that the environment or the AWS configuration file names, if any."""
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
    except (
        configparser.Error,
        OSError,
        UnicodeDecodeError,
    ):  # the SDK reports it
        return None
    name = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    section = "default" if name == "default" else f"profile {name}"
    if not config.has_section(section):
        return None
    profile = config[section]
    if (profile.get("ignore_configured_endpoint_urls") or "").lower() == "true":
        return None
    services = f"services {profile.get('services')}"
    s3_options = config[services].get("s3") if config.has_section(services) else None
    nested = re.search(r"^\s*endpoint_url\s*=\s*(\S+)", s3_options or "", re.MULTILINE)
    endpoint = nested[1] if nested else profile.get("endpoint_url")
    return _checked_endpoint(endpoint, file) if endpoint else None


def _checked_endpoint(endpoint: str, source: str) -> str:
    scheme, separator, host = endpoint.rpartition("://")
    if not host.strip("/") or (separator and scheme not in ("http", "https")):
        raise UsageError(
            f"An S3 endpoint must be a URL, such as https://host:9000 (got {endpoint!r} from "
            f"{source})."
        )
    return endpoint


def call(function: Callable[[], R], address: Address, size: int = 0) -> R:
    """Call a function that calls into a store. size: the bytes that it sends or receives.

    Raises StorageError if the store has not answered within the time limit.
    """
    return call_each(lambda _: function(), [None], address, size)[0]


def call_each(
    function: Callable[[T], R], items: Iterable[T], address: Address, size: int = 0
) -> list[R]:
    """Return ``function(item)`` for each item, called concurrently.

    The time limit applies to each call, so that there may be any number of items.
    """
    items = list(items)
    unstarted: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(items)):
        unstarted.put(index)
    finished: queue.SimpleQueue[tuple[int, Any, BaseException | None]] = queue.SimpleQueue()
    is_over = threading.Event()

    def run_calls() -> None:
        while not is_over.is_set():
            try:
                index = unstarted.get_nowait()
            except queue.Empty:
                return
            try:
                finished.put((index, function(items[index]), None))
            except BaseException as error:
                finished.put((index, None, error))

    count = min(len(items), CONCURRENCY)
    threads = [
        threading.Thread(target=run_calls, daemon=True, name="mgraph-store") for _ in range(count)
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
    """Give this thread's calls a few seconds in the block, even if its work is cancelled."""
    previous, _clean_up.seconds = _clean_up.seconds, seconds or CLEAN_UP_SECONDS
    try:
        with cancellation.cancelled_when(lambda: False):
            yield
    finally:
        _clean_up.seconds = previous


def _next_result(finished: Any, address: Address, size: int) -> Any:
    """Wait for the next result in Python, so that signal handlers run meanwhile."""
    seconds = (_clean_up.seconds or timeouts.store_seconds()) + size / BYTES_PER_SECOND
    deadline = time.monotonic() + seconds
    while True:
        cancellation.raise_if_cancelled()
        try:
            return finished.get(timeout=POLL_SECONDS)
        except queue.Empty:
            if time.monotonic() > deadline:
                raise StorageError(
                    f"The store at {endpoint_of(address)} has not answered within {seconds:.3g} s "
                    f"(for {address.text}): check that it runs and can be reached from here, or "
                    "raise the setting mgraph.store-timeout."
                ) from None


def exit_without_waiting(status: int) -> None:
    """Let the process end with a status even while abandoned calls have not ended."""
    _abandoned[:] = [thread for thread in _abandoned if thread.is_alive()]
    if _abandoned:
        atexit.register(
            _exit_now, status
        )  # runs before handlers registered earlier, such as PyArrow's


def _exit_now(status: int) -> None:
    if any(thread.is_alive() for thread in _abandoned):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                status = status or 1
        os._exit(status)
