"""What a worker of ours does before its first point: it loads what solves, and leaves Ctrl-C alone.

Dask imports this module in each worker process and calls `dask_setup`.
"""

from __future__ import annotations

import signal
from importlib import import_module


def dask_setup(_: object) -> None:
    """Called once when a worker starts; Ctrl-C is for the run, which ends its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_module("planner.answers.api")
    import_module("planner.answers.spaces.uniform")
