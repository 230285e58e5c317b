"""Where the functions of the backend run."""

from __future__ import annotations

from typing import Any, Optional

import networkx as nx

__all__ = ["place_of"]


def place_of(device: Optional[str], threads: Optional[int]) -> dict[str, Any]:
    """Where to run: what the caller says, else what the configuration says."""
    config = nx.config.backends.vxm
    return {"device": config.device if device is None else device, "threads": config.threads if threads is None else threads}
