"""What NetworkX knows of this backend when it is imported: nothing else of mgraph is imported."""

from typing import Any

# By module: functions, and what differs from NetworkX's own, for the pages of NetworkX.
_SAME_LENGTH = "Of several shortest paths it may be another one."
_SAME_EDGES = "The result is an mgraph.Graph, with NetworkX's edges for a seed."
_SAME_WEIGHT = "The edges are those of NetworkX's Kruskal for each algorithm."
MODULES: dict[str, dict[str, str]] = {
    "components": {
        "connected_components": "",
        "is_connected": "",
        "is_forest": "",
        "is_tree": "",
        "is_weakly_connected": "",
        "node_connected_component": "",
        "number_connected_components": "",
        "number_weakly_connected_components": "",
        "weakly_connected_components": "",
    },
    "generators": {
        "barabasi_albert_graph": _SAME_EDGES,
        "fast_gnp_random_graph": _SAME_EDGES,
        "gnm_random_graph": _SAME_EDGES,
    },
    "spanning_trees": {
        "maximum_spanning_edges": _SAME_WEIGHT,
        "maximum_spanning_tree": _SAME_WEIGHT,
        "minimum_spanning_edges": _SAME_WEIGHT,
        "minimum_spanning_tree": _SAME_WEIGHT,
    },
    "steiner_trees": {
        "steiner_tree": "A tree of mgraph's heuristics for either method, usually a lighter one.",
    },
    "unweighted": {
        "all_pairs_shortest_path": "",
        "all_pairs_shortest_path_length": "",
        "bfs_edges": "",
        "bfs_layers": "",
        "bfs_predecessors": "",
        "bfs_successors": "",
        "bfs_tree": "",
        "bidirectional_shortest_path": _SAME_LENGTH,
        "descendants_at_distance": "",
        "generic_bfs_edges": "",
        "has_path": "",
        "single_source_shortest_path": "",
        "single_source_shortest_path_length": "",
        "single_target_shortest_path": "",
        "single_target_shortest_path_length": "",
    },
    "weighted": {
        "all_pairs_dijkstra": _SAME_LENGTH,
        "all_pairs_dijkstra_path": _SAME_LENGTH,
        "all_pairs_dijkstra_path_length": "",
        "astar_path": _SAME_LENGTH,
        "astar_path_length": "",
        "bidirectional_dijkstra": _SAME_LENGTH,
        "dijkstra_path": _SAME_LENGTH,
        "dijkstra_path_length": "",
        "multi_source_dijkstra": _SAME_LENGTH,
        "multi_source_dijkstra_path": _SAME_LENGTH,
        "multi_source_dijkstra_path_length": "",
        "shortest_path": _SAME_LENGTH,
        "shortest_path_length": "",
        "single_source_dijkstra": _SAME_LENGTH,
        "single_source_dijkstra_path": _SAME_LENGTH,
        "single_source_dijkstra_path_length": "",
    },
}
FUNCTIONS = {name: text for functions in MODULES.values() for name, text in functions.items()}
PARAMETERS = {
    "steiner_tree": {
        "improve : bool, default False": "Search on, until the tree is proved to be the best.",
        "time_limit : float, optional": "Seconds for that.",
    },
}


def get_info() -> dict[str, Any]:
    """Return the backend's name, address and functions, for NetworkX."""
    return {
        "backend_name": "mgraph",
        "project": "mgraph",
        "package": "mgraph",
        "short_summary": "Spanning and Steiner trees, paths and components of large graphs.",
        "functions": {
            name: {"additional_docs": text, "additional_parameters": PARAMETERS.get(name, {})}
            for name, text in FUNCTIONS.items()
        },
    }
