"""How this project is installed, and whether another project's ``mgraph`` is installed as well.

The distribution is called ``mgraph-dask``: on PyPI the name ``mgraph`` belongs to another project,
a library of phylogenetic graphs, whose package has our import name. So no message may tell a user
to install ``mgraph`` by that name: every hint to install something calls ``install_command``.

``import mgraph`` imports this module, which therefore imports next to nothing.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterable
from typing import Any

DISTRIBUTION = "mgraph-dask"
_SUMMARY = "Very large graphs on many GPUs"  # begins our summary, also under the name mgraph
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_METADATA = re.compile(r"mgraph-[^-]+(-.*)?\.(dist|egg)-info")


def install_command(extra: str = "") -> str:
    """Return the shell command that installs this project, with one of its extras.

    The command names the source of this installation: a folder, a wheel's file, a URL, or the
    distribution of a package index. If the folder or file no longer exists, the command names the
    packages that the extra requires.
    """
    import shlex

    extras = f"[{extra}]" if extra else ""
    if os.path.exists(os.path.join(_ROOT, "pyproject.toml")):
        return f"pip install -e {shlex.quote(_ROOT + extras)}"
    distribution = _installed_distribution()
    url, vcs_info = _direct_url(distribution)
    if not url:
        return f"pip install {shlex.quote(DISTRIBUTION + extras)}"
    if not url.startswith("file:"):
        address = f"{vcs_info['vcs']}+{url}" if "vcs" in vcs_info else url
        return f"pip install {shlex.quote(f'{DISTRIBUTION}{extras} @ {address}')}"
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    path = url2pathname(urlsplit(url).path)
    if os.path.exists(path):
        return f"pip install {shlex.quote(path + extras)}"
    required = _requirements(distribution, extra) or [DISTRIBUTION + extras]
    return f"pip install {' '.join(map(shlex.quote, required))}"


def _installed_distribution() -> Any:
    """Return the distribution that this file belongs to, or None."""
    from importlib import metadata

    for name in (DISTRIBUTION, "mgraph"):
        for distribution in metadata.distributions(name=name):
            summary = distribution.metadata["Summary"] or ""
            root = str(distribution.locate_file(""))
            if os.path.samefile(root, _ROOT) and _is_ours(name, summary):
                return distribution
    return None


def _is_ours(name: str, summary: str) -> bool:
    return name == DISTRIBUTION or summary.startswith(_SUMMARY)


def _direct_url(distribution: Any) -> tuple[str, dict[str, Any]]:
    """Return the URL that a distribution was installed from, and its ``vcs_info`` (PEP 610)."""
    import json

    try:
        content = json.loads(distribution.read_text("direct_url.json") or "{}")
        return str(content.get("url", "")), dict(content.get("vcs_info", {}))
    except (AttributeError, ValueError, OSError):
        return "", {}


def _requirements(distribution: Any, extra: str) -> list[str]:
    """Return the requirements of an extra without markers; without an extra the general ones."""
    requirements = []
    for requirement in distribution.requires or []:
        name, _, marker = requirement.partition(";")
        match = re.search(r"""extra\s*==\s*["']([^"']+)["']""", marker)
        if (match[1] if match else "") == extra:
            requirements.append(name.strip())
    return requirements


def other_project(folders: Iterable[str] | None = None) -> str | None:
    """Describe another project's installed ``mgraph`` and name its folder, or return None.

    folders: by default those from which Python imports.
    """
    for folder in dict.fromkeys(sys.path if folders is None else folders):
        try:
            names = sorted(filter(_METADATA.fullmatch, os.listdir(folder or ".")))
        except OSError:
            continue
        for name in names:
            version, summary = _read_metadata(os.path.join(folder, name))
            if not _is_ours("mgraph", summary):
                return f"mgraph {version} ({summary[:50].strip() or 'no summary'}…) in {folder}"
    return None


def _read_metadata(path: str) -> tuple[str, str]:
    """Return the version and the summary from a distribution's metadata folder or file."""
    values = {"Version": "", "Summary": ""}
    for file in (os.path.join(path, "METADATA"), os.path.join(path, "PKG-INFO"), path):
        try:
            with open(file, encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    key, colon, value = line.partition(":")
                    if not line.strip():
                        break
                    if colon and key in values:
                        values[key] = value.strip()
            break
        except OSError:
            continue
    return values["Version"], values["Summary"]


def describe_conflict(other: str) -> str:
    """Return the message on another project's package of our name. other: ``other_project()``."""
    return (
        f"another project's package has the import name mgraph, too: {other}. Its files replace "
        f"this project's, or a process imports it first. Run: pip uninstall mgraph && "
        f"{install_command()}"
    )


def warn_of_other_project() -> None:
    """Warn if another project's ``mgraph`` is installed; called when ours is imported."""
    other = other_project()
    if other:
        warnings.warn(describe_conflict(other), RuntimeWarning, stacklevel=3)


def is_replaced() -> bool:
    """Return whether the package ``mgraph`` that Python has imported is another project's."""
    return not hasattr(sys.modules.get("mgraph"), "_lazy_names")
