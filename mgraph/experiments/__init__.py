"""What remakes the tables and figures of the papers: timing, comparisons, plots.

As in ``mgraph`` itself, names load when they are first used; ``__init__.pyi`` lists them.
"""

from mgraph import lazy_names as _lazy_names

__getattr__, __all__ = _lazy_names.attach(__name__, __file__)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return __all__
