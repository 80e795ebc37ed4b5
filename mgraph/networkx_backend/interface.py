"""What NetworkX calls: conversion of graphs, which functions there are, and when they pay."""

from collections.abc import Mapping
from typing import Any

from mgraph.core.graph import Graph
from mgraph.networkx_backend import (
    components,
    generators,
    spanning_trees,
    steiner_trees,
    unweighted,
    weighted,
)
from mgraph.networkx_backend.break_even import pays
from mgraph.networkx_backend.graphs import ConvertedGraph
from mgraph.networkx_backend.info import FUNCTIONS

_MODULES = components, generators, spanning_trees, steiner_trees, unweighted, weighted


class Backend:
    """NetworkX's interface of a backend; each function is an attribute by its name."""

    @staticmethod
    def convert_from_nx(graph: Any, **options: Any) -> Any:
        """Return a graph of this backend; the same one for all attributes of a graph."""
        cache = getattr(graph, "__networkx_cache__", None) or {}
        for known in cache.get("backends", {}).get("mgraph", {}).values():
            if isinstance(known, ConvertedGraph):
                return known
        return ConvertedGraph(graph)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """Return a graph as one of NetworkX, and other results as they are."""
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


for _module in _MODULES:
    for _name in FUNCTIONS:
        _function = getattr(_module, _name, None)
        if _function is not None and _function.__module__ == _module.__name__:
            setattr(Backend, _name, staticmethod(_function))
backend = Backend()
