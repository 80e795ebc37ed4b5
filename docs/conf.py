"""The documentation site: python -m sphinx -W -c docs . build/site

Sphinx with the PyData theme, as NumPy, SciPy, NetworkX, Dask and cuGraph have it: numpydoc
docstrings need no translation there, and search and fonts need no network. (MkDocs, and its theme
Material, have ended their development.) The source folder is the repository, so that a page may
link to a BENCHMARKS.md beside its code, and all links work in a clone as well.
"""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform

sys.path.insert(0, str(Path(__file__).parent.parent))

from mgraph import __version__

project, author = "mgraph", "the mgraph authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = [
    "AGENTS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "cluster/*.md",
    "cluster/**/*.md",
    "docs/*.md",
    "docs/*.rst",
    "docs/*.ipynb",
    "docs/**/*.md",
    "docs/**/*.ipynb",
    "docs/**/*.rst",
    "mgraph/*/BENCHMARKS.md",
    "workflows/README.md",
]
exclude_patterns = ["build", "docs/_*", ".venv", ".gpu", ".git"]
templates_path = [str(Path(__file__).parent / "_templates")]  # autosummary knows no other folder

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the tests run notebooks, and compare what they print

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc gives the types in words
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"mgraph {version}"
html_static_path = ["_static"]
html_css_files = ["mgraph.css"]
html_extra_path = ["_root"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "mgraph"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


class DarkPictures(SphinxTransform):
    """Shows a picture's dark form, NAME-dark.svg, in the dark theme."""

    default_priority = 10  # before Sphinx collects the files of images

    def apply(self) -> None:
        """Add the dark form of each image that has one."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            dark = image["uri"].replace(".svg", "-dark.svg")
            if dark != image["uri"] and (folder / dark).exists():
                other = image.deepcopy()
                other["uri"] = dark
                image["classes"].append("only-light")
                other["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, other)


def _link_functions(app: object, page: str, source: list[str]) -> None:
    """Turn links to api.rst#mgraph.NAME, which work in a clone, into links to the name's page."""
    source[0] = re.sub(r"\bapi\.rst#([\w.]+)", r"generated/\1.rst", source[0])


def _skip_fields(
    app: object, what: str, name: str, member: Any, skip: bool, options: object
) -> bool | None:
    """Leave out the fields of named tuples, which their classes describe."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-skip-member", _skip_fields)
    app.add_transform(DarkPictures)
    app.connect("source-read", _link_functions)
