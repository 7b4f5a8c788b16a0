"""Modules of benchmarks/engines, which import each other by name from the folder of benchmarks."""

import importlib
from pathlib import Path
from types import ModuleType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def engine(name: str) -> ModuleType:
    return importlib.import_module(f"engines.{name}")
