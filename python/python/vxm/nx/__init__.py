"""A backend of networkx: ``nx.connected_components(G, backend="vxm")``.

Without ``backend=``, networkx takes it where ``nx.config.backend_priority`` names it, and only for graphs that are large enough. The
sizes, nodes and edges together, are in ``nx.config.backends.vxm``: ``min_size``, and ``min_first_size`` for a search in a graph that isn't
converted yet. ``device`` there says where it runs, and ``threads`` on how many threads.

networkx keeps the converted graph with the original, so that only the first call pays for it. To convert once and for all, use
`BackendGraph.from_networkx`.

>>> import networkx as nx
>>> nx.number_connected_components(nx.path_graph(3), backend="vxm")
1
"""

from __future__ import annotations

from typing import Any, Optional, Union

import networkx as nx

from . import _functions
from ._analytics import READS_ORIGINAL
from ._analytics import unsupported as unsupported_analytics
from ._functions import unsupported_coloring
from ._graph import BackendGraph

__all__ = ["BackendGraph", "backend"]


class _Backend:
    """What networkx calls."""

    @staticmethod
    def convert_from_nx(
        graph: Any,
        *,
        edge_attrs: Any = None,
        name: Optional[str] = None,
        **_: Any,
    ) -> BackendGraph:
        if isinstance(graph, BackendGraph):
            return graph
        if not edge_attrs or name in READS_ORIGINAL:
            return BackendGraph.from_networkx(graph, refer=True)
        if len(edge_attrs) > 1:
            raise NotImplementedError("more than one attribute of edges")
        ((weight, default),) = edge_attrs.items()
        return BackendGraph.from_networkx(graph, weight, 1 if default is None else default, refer=True)

    @staticmethod
    def convert_to_nx(result: Any, **_: Any) -> Any:
        return result.to_networkx() if isinstance(result, BackendGraph) else result

    @staticmethod
    def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Union[bool, str]:
        """Whether the answer can be that of networkx; else the reason why not."""

        def argument(place: int, key: str, default: Any = None) -> Any:
            return args[place] if len(args) > place else kwargs.get(key, default)

        graph = argument(0, "G")
        if hasattr(graph, "_graph"):
            # a view changes with its graph, and networkx doesn't drop its conversion then
            (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).pop("vxm", None)
        if name == "maximal_independent_set" and len(graph) == 0:
            return "a set of a graph without nodes"
        if name == "greedy_color":
            if graph.is_directed():
                return "colours of a directed graph"
            reason = unsupported_coloring(argument(1, "strategy", "largest_first"), argument(2, "interchange", False))
            return True if reason is None else reason
        if name == "single_source_dijkstra_path_length":
            if not isinstance(argument(3, "weight", "weight"), str):
                return "weights that aren't the name of an attribute"
            if isinstance(graph, BackendGraph) and not graph.vxm.weighted and graph.original is None:
                return "a graph that was converted without weights"
            return True
        reason = unsupported_analytics(name, graph, argument)
        return True if reason is None else reason

    @staticmethod
    def on_start_tests(items: Any) -> None:
        """Marks the tests of networkx that expect what this backend doesn't promise."""
        import pytest

        for item in items:
            if item.nodeid.endswith("test_mis.py::test_random_seed"):
                reason = "expects the members in the order in which networkx draws them for one seed"
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
            if item.nodeid.endswith("::test_condensation_mapping_and_members"):
                reason = "expects strong components in the order in which networkx' search ends"
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))

    @staticmethod
    def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Union[bool, str]:
        """Whether the answer is likely to come sooner than that of networkx, conversion included; else the reason why not."""
        graph = args[0] if args else kwargs["G"]
        if isinstance(graph, BackendGraph):
            return True
        config = nx.config.backends.vxm
        is_paid = name in _SLOW or _is_kept(graph, name)
        least = config.min_size if is_paid else config.min_first_size
        size = graph.number_of_nodes() + graph.number_of_edges()
        return True if size >= least else f"a graph of {size} nodes and edges: fewer than {least}"


def _is_kept(graph: Any, name: str) -> bool:
    """Whether networkx keeps a conversion that the function can use."""
    kept = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("vxm", {}).values()
    weighted = name == "single_source_dijkstra_path_length"
    return any(isinstance(held, BackendGraph) and (held.vxm.weighted or not weighted) for held in kept)


_SLOW = {
    "average_clustering",
    "betweenness_centrality",
    "clustering",
    "core_number",
    "greedy_color",
    "k_truss",
    "maximal_independent_set",
    "maximum_spanning_edges",
    "maximum_spanning_tree",
    "minimum_spanning_edges",
    "minimum_spanning_tree",
    "transitivity",
    "triangles",
}
"""Functions that take networkx much longer than a conversion."""


for _name in _functions.__all__:
    setattr(_Backend, _name, staticmethod(getattr(_functions, _name)))
del _name

backend = _Backend()
