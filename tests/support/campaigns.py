"""Campaigns of `benchmarks/reliability.py`, for tests of them."""

import importlib
from types import ModuleType


def campaigns(name: str) -> ModuleType:
    """A module of the campaigns, found through the folder of benchmarks alone."""
    return importlib.import_module(f"campaigns.{name}")
