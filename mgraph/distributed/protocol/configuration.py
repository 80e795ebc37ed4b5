"""mgraph's settings, which are a part of Dask's configuration; ``mgraph.yaml`` has the defaults.

Other values are given as for Dask itself: under ``mgraph:`` in a YAML file in ``/etc/dask`` or
``~/.config/dask``, or in the file that ``DASK_CONFIG`` names; in an environment variable such as
``DASK_MGRAPH__CANCEL_GRACE``; or by ``dask.config.set``. A later source in this list overrides an
earlier one, and an empty setting counts as not set. Importing this module does not import Dask.
"""

import difflib
import functools
import math
import os
import re
import site
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mgraph.distributed.protocol.dask_internals import INHERITED_CONFIGURATION
from mgraph.errors import UsageError

DEFAULT, SET = "default", "dask.config.set"
# Those of Dask's own settings that decide where mgraph runs and who may connect.
DASK_SETTINGS = (
    "scheduler-address",
    "temporary-directory",
    "distributed.comm.require-encryption",
    "distributed.comm.tls.ca-file",
    *(
        f"distributed.comm.tls.{role}.{file}"
        for role in ("scheduler", "worker", "client")
        for file in ("cert", "key")
    ),
)


class Setting(NamedTuple):
    """What a setting must be, in words, and the function that checks a value (ValueError)."""

    description: str
    parse: Callable[[Any], Any]


class Row(NamedTuple):
    """A setting's full name, its value, and the source of the value."""

    name: str
    value: Any
    source: str


def _parse_address(value: Any) -> str:
    from mgraph.distributed.protocol.addresses import check_dashboard

    if not isinstance(value, str):
        raise ValueError
    return check_dashboard(value)  # its UsageError is a ValueError, too


def _parse_folder(value: Any) -> Path:
    if not isinstance(value, str) or "://" in value or not value.isprintable():
        raise ValueError
    path = Path(os.path.expandvars(os.path.expanduser(value)))
    if not path.is_absolute():
        raise ValueError
    return path


def _seconds(minimum: float, maximum: int) -> Setting:
    def parse(value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not math.isfinite(value) or not minimum <= value <= maximum:
            raise ValueError
        return value

    return Setting(f"a number of seconds from {minimum} to {maximum:,}", parse)


_FOLDER = Setting("a folder on this machine whose path begins with / or ~", _parse_folder)
SETTINGS = {
    "runs": _FOLDER,
    "cluster": _FOLDER,
    "cancel-grace": _seconds(0, 3600),
    "dashboard": Setting("an address HOST:PORT, as 127.0.0.1:8787", _parse_address),
    "store-timeout": _seconds(1, 24 * 3600),
    "monitor.interval": _seconds(0.1, 3600),
    "monitor.history": _seconds(1, 7 * 24 * 3600),
}


@functools.cache
def defaults() -> dict[str, Any]:
    """Return the settings of ``mgraph.yaml``, nested as they are there."""
    import yaml

    content = yaml.safe_load(Path(__file__).with_name("mgraph.yaml").read_text("utf-8"))
    settings: dict[str, Any] = content["mgraph"]
    return settings


def has_files() -> bool:
    """Return whether Dask's configuration may have files, without importing Dask."""
    folders = [os.getenv("DASK_ROOT_CONFIG", "/etc/dask"), os.path.expanduser("~/.config/dask")]
    folders += [os.path.join(prefix, "etc", "dask") for prefix in (sys.prefix, *site.PREFIXES)]
    return "DASK_CONFIG" in os.environ or any(map(os.path.exists, folders))


def check_files() -> None:
    """Raise UsageError if Dask cannot read its configuration; fast if there are no files."""
    if has_files():
        _dask_config()


def get_setting(key: str) -> Any:
    """Return the value of ``mgraph.<key>``: a ``Path``, a number of seconds or an address.

    Raises UsageError if the value is not what the setting must be, if the configuration has an
    unknown setting under ``mgraph``, or if Dask cannot read one of its configuration files.
    """
    values = _settings()
    if key not in SETTINGS:
        raise _unknown_setting(f"mgraph.{key}")
    value, setting = values.get(key), SETTINGS[key]
    if value is None:
        value = dict(_leaves(defaults()))[key]
    try:
        return setting.parse(value)
    except ValueError:
        raise UsageError(
            f"mgraph.{key} must be {setting.description} (got {_short_repr(value)} from "
            f"{source_of(f'mgraph.{key}')}); change or remove it there"
        ) from None


def check_settings() -> None:
    """Raise UsageError if any of mgraph's settings is not what it must be."""
    for key in SETTINGS:
        get_setting(key)


def runs_folder() -> Path:
    """Return ``get_setting("runs")``, without importing Dask if it can only be the default."""
    if has_files() or any(name.startswith(("DASK_MGRAPH", "DASK_INTERNAL")) for name in os.environ):
        folder: Path = get_setting("runs")
        return folder
    return _parse_folder(defaults()["runs"])


def rows() -> list[Row]:
    """Return all settings of mgraph, and those of Dask that mgraph depends on."""
    return [row(name) for name in (*(f"mgraph.{key}" for key in SETTINGS), *DASK_SETTINGS)]


def row(name: str) -> Row:
    """Return one setting; ``mgraph.`` may be left out. A key that is given as text is hidden."""
    config = _dask_config()
    key = name.removeprefix("mgraph.")
    if key in SETTINGS:
        value = get_setting(key)
        text = str(value) if isinstance(value, Path) else value
        return Row(f"mgraph.{key}", text, source_of(f"mgraph.{key}"))
    if name not in DASK_SETTINGS:
        raise _unknown_setting(name)
    value = config.get(name, None)
    if isinstance(value, str) and ("-----BEGIN" in value or "\n" in value):
        value = "(given as text, not shown)"  # Dask also takes the text of a certificate or key
    return Row(name, value, DEFAULT if value is None else source_of(name))


def source_of(name: str) -> str:
    """Return where the value of a setting of Dask's configuration comes from, in words."""
    config = _dask_config()
    current = config.get(name, None)
    last = (None, DEFAULT)
    if name.startswith("mgraph."):
        last = config.get(name, None, config={"mgraph": defaults()}), DEFAULT
    for value, source in _sources(name):
        if value is not None:
            last = value, source
    return last[1] if current is None or last[0] == current else SET


def _sources(name: str) -> Iterator[tuple[Any, str]]:
    """Yield the value in each file and environment variable, in ascending order of precedence."""
    config = _dask_config()
    for path, content in config.collect_yaml(config.paths, return_paths=True):
        yield config.get(name, None, config=content), f"file {path}"
    names = [variable for variable in os.environ if variable.startswith("DASK_")]
    for variable in sorted(names, key=lambda variable: variable != INHERITED_CONFIGURATION):
        content = config.collect_env({variable: os.environ[variable]})
        yield config.get(name, None, config=content), f"environment variable {variable}"


def _dask_config() -> Any:
    """Return ``dask.config``, after mgraph's defaults are merged into it."""
    try:
        import dask.config
    except ValueError as error:  # raised on import, for a damaged file
        message = " ".join(str(error).replace(", original error message", "").split())
        raise UsageError(
            f"Dask's configuration cannot be read: {_truncate(message, 300)}; fix or remove that "
            "file"
        ) from None
    except (TypeError, AttributeError) as error:
        raise UsageError(
            "Dask's configuration cannot be read: a name in one of its files is not text, or one "
            "of two environment variables DASK_… sets a value where the other needs a group of "
            f"settings ({_truncate(str(error))})"
        ) from None
    _merge_defaults()
    return dask.config


@functools.cache
def _merge_defaults() -> None:
    import dask.config

    content = dask.config.config.get("mgraph")
    # Merging would replace a value that should be a mapping by the defaults, and hide the mistake.
    scalars = {name for name, value in _leaves({"mgraph": content}) if value is not None}
    if not scalars & {"mgraph", "mgraph.monitor"}:
        dask.config.update_defaults({"mgraph": defaults()})


def _settings() -> dict[str, Any]:
    """Return what Dask's configuration has under ``mgraph``, by key. Raises UsageError."""
    config = _dask_config().config
    for name in config:
        if isinstance(name, str) and re.match("mgraph[-_]", name):
            raise _unknown_setting(name.replace("_", "-"), f"from {source_of(name)}")
    content = config.get("mgraph")
    if content is not None and not isinstance(content, Mapping):
        raise _not_a_mapping("mgraph", content)
    values = dict(_leaves(content or {}))
    for key, value in values.items():
        if key not in SETTINGS and any(name.startswith(f"{key}.") for name in SETTINGS):
            if value is not None:
                raise _not_a_mapping(f"mgraph.{key}", value)
        elif key not in SETTINGS:
            raise _unknown_setting(f"mgraph.{key}", f"from {source_of(f'mgraph.{key}')}")
    return values


def _leaves(content: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of all but mappings, with dots between levels and hyphens in names."""
    for name, value in content.items():
        key = prefix + str(name).replace("_", "-")
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _not_a_mapping(name: str, value: Any) -> UsageError:
    names = [key for key in SETTINGS if f"mgraph.{key}".startswith(f"{name}.")]
    return UsageError(
        f"{name} in Dask's configuration must be a mapping of settings, such as "
        f"{names[0].rpartition('.')[2]} (got {_short_repr(value)} from {source_of(name)}); change "
        "or remove it there"
    )


def _unknown_setting(name: str, source: str = "") -> UsageError:
    known = [*(f"mgraph.{key}" for key in SETTINGS), *DASK_SETTINGS]
    if name.startswith("mgraph-"):  # Dask ignores such a variable
        hint = "in an environment variable two underscores stand for a dot, as in DASK_MGRAPH__RUNS"
    elif match := _closest(name, known) or _closest(f"mgraph.{name}", known):
        hint = f"did you mean {match[0]}?"
    else:
        hint = "mgraph config lists the settings"
    origin = f" ({source})" if source else ""
    return UsageError(f"there is no setting {_truncate(name)}{origin}; {hint}")


def _closest(name: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(name, known, 1, 0.75)


def _short_repr(value: Any) -> str:
    return _truncate(repr(value))


def _truncate(text: str, letters: int = 200) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= letters else f"{text[:letters]}…"
