"""What NetworkX calls: conversion of graphs, which functions there are, and when they pay.

Nothing else of mgraph is imported before a function runs here, so that a program with small graphs
does not wait for it.
"""

import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from mgraph.networkx_backend.break_even import pays
from mgraph.networkx_backend.info import FUNCTIONS, MODULES

_MODULE_OF = {name: module for module, names in MODULES.items() for name in names}


class Backend:
    """NetworkX's interface of a backend; each function is an attribute by its name."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function of NetworkX that this backend has."""
        if name not in FUNCTIONS:
            raise AttributeError(f"mgraph has no function {name} of NetworkX")
        return functools.partial(_call, name)

    @staticmethod
    def convert_from_nx(graph: Any, **options: Any) -> Any:
        """Return a graph of this backend; the same one for all attributes of a graph."""
        import networkx

        from mgraph.networkx_backend.converted import ConvertedGraph

        cache = getattr(graph, "__networkx_cache__", None) or {}
        if networkx.config.cache_converted_graphs:
            for known in cache.get("backends", {}).get("mgraph", {}).values():
                if isinstance(known, ConvertedGraph):
                    return known
        return ConvertedGraph(graph)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """Return a graph as one of NetworkX, and other results as they are."""
        from mgraph.core.graph import Graph
        from mgraph.networkx_backend.converted import ConvertedGraph

        if isinstance(result, ConvertedGraph):
            return result.networkx
        return result.to_networkx() if isinstance(result, Graph) else result

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a function is here; what it cannot do it leaves to NetworkX."""
        return name in FUNCTIONS

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool | str:
        """Whether a function is faster than NetworkX's own, or why not."""
        return pays(name, args, kwargs)


def _call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and import its module first."""
    module = importlib.import_module(f"mgraph.networkx_backend.{_MODULE_OF[name]}")
    return getattr(module, name)(*args, **kwargs)


backend = Backend()
