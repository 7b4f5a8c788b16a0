"""What a worker of ours does before its first point: it loads what solves.

Dask imports this module in each worker process and calls `dask_setup`.
"""

from __future__ import annotations

from importlib import import_module


def dask_setup(_: object) -> None:
    """Called once when a worker starts."""
    import_module("planner.answers.api")
    import_module("planner.answers.spaces.uniform")
