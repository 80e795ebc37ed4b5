"""Small private files of this machine, written atomically."""

import contextlib
import os
import secrets


def write_atomically(path: str | os.PathLike[str], content: bytes, mode: int = 0o600) -> None:
    """Write or replace a file atomically; it has its mode from the start.

    Raises OSError, and leaves no temporary file behind.
    """
    folder, name = os.path.split(os.fspath(path))
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
