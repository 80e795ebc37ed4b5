"""The process of a submitted workflow: ``python -m …submission.run_script SCRIPT [ARGS…]``.

It runs the script as ``python SCRIPT ARGS`` would, prints a sentence for what ``mgraph.errors``
tells, and ends, with all it has started, when the worker that started it has died.
"""

import contextlib
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from pathlib import Path

from mgraph.distributed.protocol import run_context
from mgraph.errors import MgraphError
from mgraph.io import untrusted

LOOK_SECONDS = 0.5
BEHIND = "behind.json"  # in the run's folder: what lies beside the script and was not shipped
DRIVER = "MGRAPH_RUN_DRIVER"  # the pid of the process that began this one


def end_with(parent: int) -> None:
    """End this process's group as soon as ``parent`` is no longer its parent."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os.killpg(os.getpgrp(), signal.SIGKILL)

    threading.Thread(target=look, daemon=True, name="mgraph-parent").start()


def run(script: str, arguments: list[str]) -> int:
    """Run the script; returns its exit status."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))
    try:
        from dask import annotate

        # What this thread submits is the run's, and so is what its tasks submit (``task_output``).
        with annotate(**run_context.annotation()):
            runpy.run_path(script, run_name="__main__")
    except MgraphError as error:
        print(f"mgraph: {error}", file=sys.stderr)
        _print_hint(error)
        return error.exit_status
    except KeyboardInterrupt:
        print("mgraph: interrupted; what is finished is kept", file=sys.stderr)
        return 130
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        # From the script on: what is above it is ours, and runpy's.
        last = error.__traceback__
        while last is not None and last.tb_frame.f_code.co_filename != script:
            last = last.tb_next
        traceback.print_exception(type(error), error, last)
        _print_hint(error)
        return 1
    return 0


def _print_hint(error: BaseException) -> None:
    """Say what to ship where an import failed of what lies beside the script."""
    from mgraph.distributed.submission.payload import hint

    folder = os.environ.get(run_context.FOLDER)
    if folder is not None:
        with contextlib.suppress(Exception):  # such as an error's whose text cannot be made
            behind = untrusted.parse_json((Path(folder) / BEHIND).read_bytes())
            if told := hint(error, behind):
                print(f"mgraph: {told}", file=sys.stderr)


if __name__ == "__main__":
    end_with(int(os.environ.pop(DRIVER)))
    # A worker may ignore ctrl-C, or hold it back, since a terminal sends it to all it has started.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    status = run(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    sys.exit(status)
