"""The page in which the planner runs: the folder that `python web/build.py` built."""

import os
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


def built() -> Path:
    """The folder that PLANNER_APP names; a test is skipped where it names none."""
    given = os.environ.get("PLANNER_APP")
    if not given:
        pytest.skip("PLANNER_APP names no folder that python web/build.py built")
    return Path(given)
