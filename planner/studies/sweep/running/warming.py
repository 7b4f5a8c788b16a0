"""What a worker of ours does before its first point: it grows silent and loads what solves.

Dask imports this module in each worker process and calls `dask_setup`.
"""

from __future__ import annotations

import logging
from importlib import import_module


def dask_setup(_: object) -> None:
    """Called once when a worker starts. What it would log of itself, the run tells in one line."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    import_module("planner.answers.api")
    import_module("planner.answers.spaces.uniform")
