"""What NetworkX knows of this backend when it is imported: nothing else of mgraph is imported."""

from typing import Any

# Functions, and what differs from NetworkX's own: text for the pages of NetworkX's functions.
_SAME_LENGTH = "Of several shortest paths it may be another one."
_SAME_WEIGHT = "The edges are those of NetworkX's Kruskal for each algorithm."
FUNCTIONS: dict[str, str] = {
    "all_pairs_dijkstra": _SAME_LENGTH,
    "all_pairs_dijkstra_path": _SAME_LENGTH,
    "all_pairs_dijkstra_path_length": "",
    "all_pairs_shortest_path": "",
    "all_pairs_shortest_path_length": "",
    "barabasi_albert_graph": "The result is an mgraph.Graph, with NetworkX's edges for a seed.",
    "bfs_edges": "",
    "bfs_layers": "",
    "bfs_predecessors": "",
    "bfs_successors": "",
    "bfs_tree": "",
    "bidirectional_dijkstra": _SAME_LENGTH,
    "bidirectional_shortest_path": _SAME_LENGTH,
    "connected_components": "",
    "descendants_at_distance": "",
    "dijkstra_path": _SAME_LENGTH,
    "dijkstra_path_length": "",
    "generic_bfs_edges": "",
    "has_path": "",
    "is_connected": "",
    "is_forest": "",
    "is_tree": "",
    "is_weakly_connected": "",
    "maximum_spanning_edges": _SAME_WEIGHT,
    "maximum_spanning_tree": _SAME_WEIGHT,
    "minimum_spanning_edges": _SAME_WEIGHT,
    "minimum_spanning_tree": _SAME_WEIGHT,
    "multi_source_dijkstra": _SAME_LENGTH,
    "multi_source_dijkstra_path": _SAME_LENGTH,
    "multi_source_dijkstra_path_length": "",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_weakly_connected_components": "",
    "shortest_path": _SAME_LENGTH,
    "shortest_path_length": "",
    "single_source_dijkstra": _SAME_LENGTH,
    "single_source_dijkstra_path": _SAME_LENGTH,
    "single_source_dijkstra_path_length": "",
    "single_source_shortest_path": "",
    "single_source_shortest_path_length": "",
    "single_target_shortest_path": "",
    "single_target_shortest_path_length": "",
    "steiner_tree": "A tree of mgraph's heuristics for either method, usually a lighter one.",
    "weakly_connected_components": "",
}
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
        "short_summary": "On all cores, and on a GPU where there is one.",
        "functions": {
            name: {"additional_docs": text, "additional_parameters": PARAMETERS.get(name, {})}
            for name, text in FUNCTIONS.items()
        },
    }
