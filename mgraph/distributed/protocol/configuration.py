"""mgraph's settings, which are a part of Dask's configuration: ``mgraph.yaml`` has the defaults.

Others are given as for Dask itself: under ``mgraph:`` in a YAML file of ``/etc/dask`` or
``~/.config/dask``, or the one that ``DASK_CONFIG`` names; in an environment variable as
``DASK_MGRAPH__CANCEL_GRACE``; or by ``dask.config.set``. What stands later in this list wins, and a
setting that is empty counts as not given. Importing this module does not import Dask.
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
# Of Dask's own settings those that decide where mgraph runs and who may connect.
OF_DASK = (
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
    """What a setting must be, in words, and what makes it of a value, or raises ValueError."""

    what: str
    read: Callable[[Any], Any]


class Row(NamedTuple):
    """A setting's full name, its value, and where that comes from."""

    name: str
    value: Any
    source: str


def _address(value: Any) -> str:
    from mgraph.distributed.protocol.addresses import check_dashboard

    if not isinstance(value, str):
        raise ValueError
    return check_dashboard(value)  # whose UsageError is a ValueError, too


def _folder(value: Any) -> Path:
    if not isinstance(value, str) or "://" in value or not value.isprintable():
        raise ValueError
    path = Path(os.path.expandvars(os.path.expanduser(value)))
    if not path.is_absolute():
        raise ValueError
    return path


def _seconds(least: float, most: int) -> Setting:
    def read(value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        if not math.isfinite(value) or not least <= value <= most:
            raise ValueError
        return value

    return Setting(f"a number of seconds from {least} to {most:,}", read)


_FOLDER = Setting("a folder on this machine whose path begins with / or ~", _folder)
SETTINGS = {
    "runs": _FOLDER,
    "cluster": _FOLDER,
    "cancel-grace": _seconds(0, 3600),
    "dashboard": Setting("an address HOST:PORT, as 127.0.0.1:8787", _address),
    "store-timeout": _seconds(1, 24 * 3600),
    "monitor.interval": _seconds(0.1, 3600),
    "monitor.history": _seconds(1, 7 * 24 * 3600),
}


@functools.cache
def defaults() -> dict[str, Any]:
    """What ``mgraph.yaml`` says, as nested as it stands there."""
    import yaml

    content = yaml.safe_load(Path(__file__).with_name("mgraph.yaml").read_text("utf-8"))
    found: dict[str, Any] = content["mgraph"]
    return found


def has_files() -> bool:
    """Whether there may be files of Dask's configuration; told without importing Dask."""
    folders = [os.getenv("DASK_ROOT_CONFIG", "/etc/dask"), os.path.expanduser("~/.config/dask")]
    folders += [os.path.join(prefix, "etc", "dask") for prefix in (sys.prefix, *site.PREFIXES)]
    return "DASK_CONFIG" in os.environ or any(map(os.path.exists, folders))


def check_files() -> None:
    """Raise UsageError where Dask cannot read its configuration; quick where there is none."""
    if has_files():
        _dask_config()


def given(key: str) -> Any:
    """The value of ``mgraph.<key>``: a ``Path`` of folders, a number of seconds, an address.

    Raises UsageError where it is not what it must be, where ``mgraph`` holds a setting that there
    is not, and where Dask cannot read a file of its configuration.
    """
    found = _settings()
    if key not in SETTINGS:
        raise _unknown(f"mgraph.{key}", "as was asked for")
    value, setting = found.get(key), SETTINGS[key]
    if value is None:
        value = dict(_leaves(defaults()))[key]
    try:
        return setting.read(value)
    except ValueError:
        raise UsageError(
            f"mgraph.{key} must be {setting.what}, and is {_short(value)} (from "
            f"{source_of(f'mgraph.{key}')}); change or remove it there"
        ) from None


def check() -> None:
    """Raise UsageError where any setting of mgraph's is not what it must be."""
    for key in SETTINGS:
        given(key)


def runs_folder() -> Path:
    """``given("runs")``, without importing Dask where nothing but the default can hold."""
    if has_files() or any(name.startswith(("DASK_MGRAPH", "DASK_INTERNAL")) for name in os.environ):
        found: Path = given("runs")
        return found
    return _folder(defaults()["runs"])


def rows() -> list[Row]:
    """All settings of mgraph, and those of Dask that matter to it."""
    return [row(name) for name in (*(f"mgraph.{key}" for key in SETTINGS), *OF_DASK)]


def row(name: str) -> Row:
    """One of them; ``mgraph.`` may be left out. Keys that are given as text are not shown."""
    config = _dask_config()
    key = name.removeprefix("mgraph.")
    if key in SETTINGS:
        value = given(key)
        shown = str(value) if isinstance(value, Path) else value
        return Row(f"mgraph.{key}", shown, source_of(f"mgraph.{key}"))
    if name not in OF_DASK:
        raise _unknown(name, "as was asked for")
    value = config.get(name, None)
    if isinstance(value, str) and ("-----BEGIN" in value or "\n" in value):
        value = "(given as text, not shown)"  # Dask takes a certificate or key itself, too
    return Row(name, value, DEFAULT if value is None else source_of(name))


def source_of(name: str) -> str:
    """Where the value of a setting of Dask's configuration comes from, in words."""
    config = _dask_config()
    now = config.get(name, None)
    found = (None, DEFAULT)
    if name.startswith("mgraph."):
        found = config.get(name, None, config={"mgraph": defaults()}), DEFAULT
    for value, source in _sources(name):
        if value is not None:
            found = value, source
    return found[1] if now is None or found[0] == now else SET


def _sources(name: str) -> Iterator[tuple[Any, str]]:
    """What each file and environment variable says of a setting, the weakest first."""
    config = _dask_config()
    for path, content in config.collect_yaml(config.paths, return_paths=True):
        yield config.get(name, None, config=content), f"file {path}"
    names = [variable for variable in os.environ if variable.startswith("DASK_")]
    for variable in sorted(names, key=lambda variable: variable != INHERITED_CONFIGURATION):
        content = config.collect_env({variable: os.environ[variable]})
        yield config.get(name, None, config=content), f"environment variable {variable}"


def _dask_config() -> Any:
    """``dask.config``, with mgraph's defaults in it from the first time on."""
    try:
        import dask.config
    except ValueError as error:  # raised on import, for a damaged file
        told = " ".join(str(error).replace(", original error message", "").split())
        raise UsageError(
            f"Dask's configuration cannot be read: {_cut(told, 300)}; mend or remove that file"
        ) from None
    except (TypeError, AttributeError) as error:
        raise UsageError(
            "Dask's configuration cannot be read: a name in one of its files is not text, or an "
            f"environment variable DASK_… belongs under one that is no group ({_cut(str(error))})"
        ) from None
    _merge_defaults()
    return dask.config


@functools.cache
def _merge_defaults() -> None:
    import dask.config

    held = dask.config.config.get("mgraph")
    # Merging would put the defaults in the place of what is no mapping, and so hide the mistake.
    scalars = {name for name, value in _leaves({"mgraph": held}) if value is not None}
    if not scalars & {"mgraph", "mgraph.monitor"}:
        dask.config.update_defaults({"mgraph": defaults()})


def _settings() -> dict[str, Any]:
    """What Dask's configuration holds under ``mgraph``, by key. Raises UsageError."""
    config = _dask_config().config
    for name in config:
        if isinstance(name, str) and re.match("mgraph[-_]", name):
            raise _unknown(name.replace("_", "-"), f"from {source_of(name)}")
    held = config.get("mgraph")
    if held is not None and not isinstance(held, Mapping):
        raise _no_mapping("mgraph", held)
    found = dict(_leaves(held or {}))
    for key, value in found.items():
        if key not in SETTINGS and any(name.startswith(f"{key}.") for name in SETTINGS):
            if value is not None:
                raise _no_mapping(f"mgraph.{key}", value)
        elif key not in SETTINGS:
            raise _unknown(f"mgraph.{key}", f"from {source_of(f'mgraph.{key}')}")
    return found


def _leaves(held: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Key and value of all that is no mapping, with dots between levels and hyphens in names."""
    for name, value in held.items():
        key = before + str(name).replace("_", "-")
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def _no_mapping(name: str, value: Any) -> UsageError:
    names = [key for key in SETTINGS if f"mgraph.{key}".startswith(f"{name}.")]
    return UsageError(
        f"{name} in Dask's configuration must hold settings by name, as "
        f"{names[0].rpartition('.')[2]}, and is {_short(value)} (from {source_of(name)}); change "
        "or remove it there"
    )


def _unknown(name: str, how: str) -> UsageError:
    known = [*(f"mgraph.{key}" for key in SETTINGS), *OF_DASK]
    if name.startswith("mgraph-"):  # a mistake that Dask would pass over
        hint = "in a variable's name two underscores stand for a dot, as DASK_MGRAPH__RUNS"
    elif near := _near(name, known) or _near(f"mgraph.{name}", known):
        hint = f"{near[0]} is what comes closest"
    else:
        hint = "mgraph config lists those there are"
    return UsageError(f"there is no setting {_cut(name)} ({how}); {hint}")


def _near(name: str, known: list[str]) -> list[str]:
    return difflib.get_close_matches(name, known, 1, 0.75)


def _short(value: Any) -> str:
    return _cut(repr(value))


def _cut(text: str, most: int = 200) -> str:
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if len(text) <= most else f"{text[:most]}…"
