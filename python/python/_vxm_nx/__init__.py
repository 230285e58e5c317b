"""What networkx is told about the backend ``vxm``. It imports nothing, because networkx reads it whenever it is imported."""

__all__ = ["get_info"]

_FUNCTIONS = {
    "all_pairs_shortest_path_length": "One search for each source.",
    "average_clustering": "Undirected graphs without weights: the same number, bit for bit.",
    "betweenness_centrality": "Undirected graphs without weights. Sums are rounded in another order.",
    "clustering": "Undirected graphs without weights: the same numbers, bit for bit.",
    "connected_components": "",
    "core_number": "Undirected graphs.",
    "descendants": "",
    "greedy_color": "Strategies `largest_first` and `random_sequential`, without interchange: the same colours as networkx.",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "k_truss": "",
    "maximal_independent_set": "Drawn from the same distribution as networkx' sets; another set for the same seed.",
    "maximal_matching": "Another matching, with at least half as many edges as any.",
    "maximum_spanning_edges": "Kruskal's algorithm: the same edges in the same order.",
    "maximum_spanning_tree": "Kruskal's algorithm: the same tree.",
    "min_weighted_vertex_cover": "Without weights; another cover, at most twice as large as the least.",
    "minimum_spanning_edges": "Kruskal's algorithm: the same edges in the same order.",
    "minimum_spanning_tree": "Kruskal's algorithm: the same tree.",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "Weights of 1; a personalization with one value for all its nodes. The ranks are equal within the tolerance.",
    "single_source_dijkstra_path_length": "Weights are integers or floats from 0: the same lengths, bit for bit.",
    "single_source_shortest_path_length": "",
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "By their first nodes.",
    "transitivity": "Undirected graphs.",
    "triangles": "",
    "weakly_connected_components": "",
}


def get_info():
    """The backend's name, functions and default configuration."""
    parameters = {
        "device : str": "cpu, cuda, cuda:N or auto; by default that of the configuration `nx.config.backends.vxm`.",
        "threads : int or None": "The number of threads; None for one on each core.",
    }
    return {
        "backend_name": "vxm",
        "project": "vxm",
        "package": "vxm",
        "short_summary": "Sparse linear algebra on CPU threads and NVIDIA GPUs, with the same bits everywhere.",
        "description": "Graphs are converted to sparse matrices once and kept by networkx.",
        "functions": {
            name: {"additional_docs": text, "additional_parameters": parameters} for name, text in _FUNCTIONS.items()
        },
        "default_config": {"device": "cpu", "threads": None, "min_size": 3000, "min_first_size": 50000},
    }
