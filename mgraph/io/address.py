"""Addresses of folders and files: the one place that parses them.

An address is a path of this machine, a ``file://`` URI (RFC 8089), or ``s3://bucket/key``, whose
options follow a question mark. The key of an S3 address may be percent-encoded or not.
"""

import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

from mgraph.errors import DatasetError, UsageError

S3_OPTIONS: dict[str, type] = {  # of PyArrow's S3FileSystem
    "region": str,
    "scheme": str,
    "endpoint_override": str,
    "tls_ca_file_path": str,
    "allow_bucket_creation": bool,
    "allow_bucket_deletion": bool,
    "allow_delayed_open": bool,
    "check_directory_existence_before_creation": bool,
    "force_virtual_addressing": bool,
}
_SCHEME = re.compile(r"\s*([^/:]*)://")
_LOST_SLASH = re.compile(r"(?i)(s3[an]?|file):")  # s3:/bucket, to which pathlib.Path shortens s3://
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SLASH = re.compile("%2[Ff]")
_LONE_PERCENT = re.compile("%(?![0-9A-Fa-f]{2})")
_KEY_SAFE = "/%!$&'()*+,;=:@~"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Address:
    """A parsed address.

    text: the absolute path, or the S3 address with its key percent-encoded; parsing it again gives
    the same address. path: the same path, or ``bucket/key`` decoded. options: of PyArrow's
    ``S3FileSystem``.
    """

    text: str
    path: str
    is_local: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "Address":
        """The address of the folder that contains this one; a bucket is its own parent."""
        if self.is_local:
            return Address(os.path.dirname(self.path), os.path.dirname(self.path))
        head, question, query = self.text.partition("?")
        parent = head.rpartition("/")[0] if "/" in self.path else head
        path = self.path.rpartition("/")[0] or self.path
        return Address(parent + question + query, path, False, self.options)


def parse(location: Any) -> Address:
    """Parse the address in a text or a path object, or raise UsageError."""
    try:
        text = os.fsdecode(os.fspath(location))
    except TypeError:
        remedy = "; mgraph.write_graph writes a graph to one" if hasattr(location, "indptr") else ""
        raise UsageError(
            f"An address must be a path or text, such as 'graph' or 's3://bucket/graph' (got "
            f"{type(location).__name__}){remedy}."
        ) from None
    _check_text(text)
    if not text.strip():
        raise UsageError("The address is empty; give a path or an s3:// address.")
    if scheme := _SCHEME.match(text):
        return _parse_uri(text.strip(), scheme[1].lower())
    if lost := _LOST_SLASH.match(text):
        name = lost[1].lower()
        rest = text[lost.end() :].lstrip("/")
        if name == "file" and text[lost.end() :].startswith("/"):
            return _parse_file(text, text[lost.end() :])
        right = f"file:///{rest}" if name == "file" else f"s3://{rest}"
        raise UsageError(
            f"{text} is not an address: write {right} (as text: pathlib.Path drops a slash), or "
            f"./{text} for a local folder of that name."
        )
    if _WINDOWS.match(text):
        raise UsageError(
            f"{text} is a Windows path, and paths must have slashes here; write ./{text} for a "
            "local folder of that name."
        )
    if text == "~" or text.startswith("~/"):
        text = os.path.expanduser(text)
    return _local(text)


def location_text(location: Any) -> str:
    """Return a checked address as the user wrote it, for messages; UsageError if it is wrong."""
    parse(location)
    return os.fsdecode(os.fspath(location))


def local_path(file: Any, rule: str = "be a file on this machine") -> str:
    """Return the absolute path of an address on this machine, or raise UsageError with the rule."""
    address = parse(file)
    if not address.is_local:
        raise UsageError(f"{address.text} must {rule}.")
    return address.path


def missing_error(address: Address, hint: str = "") -> DatasetError:
    """Return the error for an address at which nothing exists. hint: what the user may do."""
    if re.search(r"[*?\[{]", address.name):
        return DatasetError(
            f"{address.text} does not exist, and patterns are not expanded: give the folder, "
            f"{address.parent.text}"
        )
    return DatasetError(f"{address.text} does not exist{hint}")


def _check_text(text: str) -> None:
    """Raise UsageError for text that no file system and no store accepts as a name."""
    if "\0" in text:
        raise UsageError(f"{_printable(text)} is not an address: it holds a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"The name {_printable(text)} is not UTF-8: rename it, or if it is, set a UTF-8 "
            "locale (LC_ALL=C.UTF-8)."
        ) from None


def _printable(text: str) -> str:
    """Return the text in quotes, with an escape for each byte that is not UTF-8 and each NUL."""
    escaped = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "'" + escaped.replace("\0", "\\0") + "'"


def _local(text: str) -> Address:
    # The parent of a link's target is not the parent of the link.
    above = re.match(r"(.*/)?\.\.(?=/|$)", text, re.DOTALL)
    try:
        path = os.path.abspath(text)
        if above:
            path = os.path.abspath(os.path.realpath(above[0]) + text[above.end() :])
    except FileNotFoundError:
        raise UsageError(
            f"{text} lies in the current folder, which has been removed; cd to one that exists."
        ) from None
    if path.startswith("//"):
        path = path[1:]
    return Address(path, path)


def _parse_uri(text: str, scheme: str) -> Address:
    rest = text.partition("://")[2]
    if scheme == "file":
        return _parse_file(text, f"//{rest}")
    if scheme == "s3":
        return _parse_s3(text, rest)
    if scheme in ("s3a", "s3n"):
        raise UsageError(f"{scheme}:// is Hadoop's spelling; write s3://{rest}.")
    raise UsageError(
        f"Give s3://BUCKET/FOLDER, or a folder of this machine or of a shared file system (got "
        f"{text}: {scheme or 'an empty scheme'}:// is not supported)."
    )


def _parse_file(text: str, rest: str) -> Address:
    """rest: what follows ``file:``."""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise UsageError(
                f"{text} names the host {host}; give a path of this machine, as "
                f"file:///{host}{slash}{path}."
            )
        if not slash:
            raise UsageError(f"{text} has no path; write file:///FOLDER.")
        rest = slash + path
    return _local(_decoded(rest))


def _parse_s3(text: str, rest: str) -> Address:
    rest, _, query = rest.partition("?")
    authority, _, key = rest.partition("/")
    user, at, bucket = authority.rpartition("@")
    if not bucket:
        raise UsageError(f"{text} has no bucket; write s3://BUCKET/FOLDER.")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(
            f"{text} is not an S3 address: {bucket!r} is not a bucket's name. Write "
            "s3://BUCKET/FOLDER, and name another host than Amazon's in AWS_ENDPOINT_URL."
        )
    key = _SLASH.sub("/", key).rstrip("/")  # so that text and path have the same parts
    key = _LONE_PERCENT.sub("%25", key)
    key = quote(key, safe=_KEY_SAFE)
    decoded = _decoded(key)
    if any(part in ("", ".", "..") for part in decoded.split("/")) and decoded:
        raise UsageError(
            f"{text} is not a valid S3 address: a part of its key is empty, '.' or '..'."
        )
    options = _s3_options(text, query)
    if at:
        options["access_key"], _, secret = (
            unquote_to_bytes(part).decode(errors="replace") for part in user.partition(":")
        )
        options["secret_key"] = secret
    clean = f"s3://{authority}" + (f"/{key}" if key else "") + (f"?{query}" if query else "")
    return Address(clean, f"{bucket}/{decoded}".rstrip("/"), False, options)


def _s3_options(text: str, query: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        option_type = S3_OPTIONS.get(name)
        if option_type is None:
            raise UsageError(
                f"{text}: an option must be one of {', '.join(S3_OPTIONS)} (got {name!r}); a "
                "question mark in a key is written %3F."
            )
        if option_type is bool and value.lower() not in _BOOLEANS:
            raise UsageError(f"{name} must be true or false in {text} (got {value!r}).")
        options[name] = _BOOLEANS[value.lower()] if option_type is bool else value
    return options


def _decoded(text: str) -> str:
    """Decode percent-encoded text; raise UsageError if it is not UTF-8 or holds a NUL."""
    decoded = unquote_to_bytes(text).decode(errors="surrogateescape")
    _check_text(decoded)
    return decoded
