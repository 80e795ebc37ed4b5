"""How this project is installed, and whether another project's package ``mgraph`` is here as well.

The distribution is called ``mgraph-dask``: the name ``mgraph`` belongs to another project on PyPI,
a library of phylogenetic graphs, whose package has our import name. So no message may tell a user
to install ``mgraph`` by that name: what is to be installed is worded here alone.

This module imports next to nothing, since ``import mgraph`` does.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterable
from typing import Any

DISTRIBUTION = "mgraph-dask"
_SUMMARY = "Very large graphs on many GPUs"  # how ours begins, also under its former name, mgraph
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_METADATA = re.compile(r"mgraph-[^-]+(-.*)?\.(dist|egg)-info")


def install_command(extra: str = "") -> str:
    """The shell command that installs this project, with one of its extras.

    It names what is installed here: the source folder, a wheel's file, an address, or the
    distribution of a package index. Where the folder or file is gone since, it names what the extra
    requires.
    """
    import shlex

    extras = f"[{extra}]" if extra else ""
    if os.path.exists(os.path.join(_ROOT, "pyproject.toml")):
        return f"pip install -e {shlex.quote(_ROOT + extras)}"
    found = _installed()
    url, info = _direct_url(found)
    if not url:
        return f"pip install {shlex.quote(DISTRIBUTION + extras)}"
    if not url.startswith("file:"):
        address = f"{info['vcs']}+{url}" if "vcs" in info else url
        return f"pip install {shlex.quote(f'{DISTRIBUTION}{extras} @ {address}')}"
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    path = url2pathname(urlsplit(url).path)
    if os.path.exists(path):
        return f"pip install {shlex.quote(path + extras)}"
    required = _required(found, extra) or [DISTRIBUTION + extras]
    return f"pip install {' '.join(map(shlex.quote, required))}"


def _installed() -> Any:
    """The distribution whose files these are, or None."""
    from importlib import metadata

    for name in (DISTRIBUTION, "mgraph"):
        for found in metadata.distributions(name=name):
            summary = found.metadata["Summary"] or ""
            if os.path.samefile(str(found.locate_file("")), _ROOT) and _is_ours(name, summary):
                return found
    return None


def _is_ours(name: str, summary: str) -> bool:
    return name == DISTRIBUTION or summary.startswith(_SUMMARY)


def _direct_url(distribution: Any) -> tuple[str, dict[str, Any]]:
    """Where a distribution was installed from, as PEP 610 tells it, and what of a repository."""
    import json

    try:
        content = json.loads(distribution.read_text("direct_url.json") or "{}")
        return str(content.get("url", "")), dict(content.get("vcs_info", {}))
    except (AttributeError, ValueError, OSError):
        return "", {}


def _required(distribution: Any, extra: str) -> list[str]:
    """What an extra requires, without markers; without an extra what all require."""
    wanted = []
    for requirement in distribution.requires or []:
        name, _, marker = requirement.partition(";")
        of = re.search(r"""extra\s*==\s*["']([^"']+)["']""", marker)
        if (of[1] if of else "") == extra:
            wanted.append(name.strip())
    return wanted


def other_project(folders: Iterable[str] | None = None) -> str | None:
    """What PyPI's ``mgraph`` is called where it is installed, and in which folder; else None.

    folders: by default those from which Python imports.
    """
    for folder in dict.fromkeys(sys.path if folders is None else folders):
        try:
            names = sorted(filter(_METADATA.fullmatch, os.listdir(folder or ".")))
        except OSError:
            continue
        for name in names:
            version, summary = _described(os.path.join(folder, name))
            if not _is_ours("mgraph", summary):
                return f"mgraph {version} ({summary[:50].strip() or 'no summary'}…) in {folder}"
    return None


def _described(path: str) -> tuple[str, str]:
    """The version and the summary that a distribution's folder or file tells."""
    told = {"Version": "", "Summary": ""}
    for file in (os.path.join(path, "METADATA"), os.path.join(path, "PKG-INFO"), path):
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    key, colon, value = line.partition(":")
                    if not line.strip():
                        break
                    if colon and key in told:
                        told[key] = value.strip()
            break
        except OSError:
            continue
    return told["Version"], told["Summary"]


def mixed(other: str) -> str:
    """The sentence on another project's package of our name."""
    return (
        f"another project's package has the import name mgraph, too: {other}. Its files replace "
        f"this project's, or are found first by some process. Run: pip uninstall mgraph && "
        f"{install_command()}"
    )


def warn_of_other_project() -> None:
    """Warn where another project's ``mgraph`` is installed: called when ours is imported."""
    other = other_project()
    if other:
        warnings.warn(mixed(other), RuntimeWarning, stacklevel=3)


def is_replaced() -> bool:
    """Whether the package ``mgraph`` that Python has imported is not this project's."""
    return not hasattr(sys.modules.get("mgraph"), "_HOME")
