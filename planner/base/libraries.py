"""Libraries of others: which package has a module, and what is said where it cannot be imported."""

from __future__ import annotations

import importlib
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from planner.base.errors import InputError

MODULES: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "ortools": ("ortools.sat.python.cp_model", "ortools.graph.python.max_flow",
                "ortools.linear_solver.python.model_builder"),
    "networkx": ("networkx",),
    "scipy": ("scipy.optimize", "scipy.sparse.csgraph", "scipy.special", "scipy.stats"),
    "pydantic": ("pydantic", "pydantic_core"),
    "typer": ("typer",),
    "rich": ("rich.console", "rich.table"),
    "ruamel.yaml": ("ruamel.yaml",),
    "platformdirs": ("platformdirs",),
    "jinja2": ("jinja2", "markupsafe"),
    "resvg-py": ("resvg_py",),
    "pandas": ("pandas",),
    "protobuf": ("google.protobuf.message_factory", "google.protobuf.descriptor_pb2"),
    "dask": ("dask",),
    "distributed": ("distributed",),
    "pyarrow": ("pyarrow.parquet",),
    "dask-jobqueue": ("dask_jobqueue",),
}  # fmt: skip
"""What is imported of each package, those that all else needs first."""
_ROOT = Path(__file__).parents[2]
_OURS = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")


def library(name: str, lacking: str) -> Any:
    """A module of a library that not every installation has.

    One that is there and cannot be imported raises what it raises; see `broken_library`. What
    Ctrl-C and SIGTERM do stays as it is: with dask-jobqueue 0.9 Ctrl-C would end a program with 0.

    Args:
        name: The module.
        lacking: What is said where it is not installed.

    Raises:
        InputError: It is not installed.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or f"{name}.".startswith(f"{error.name}."):
            raise InputError(lacking) from error
        raise
    finally:
        for number, handler in handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def is_ours(filename: str) -> bool:
    """Whether a file of a traceback is of this program."""
    path = Path(filename)
    return path.is_relative_to(_ROOT) and path.relative_to(_ROOT).parts[0] in _OURS


def broken_library(error: BaseException) -> str:
    """The package that could not be imported where an error says so; empty: it is another error.

    Only what a library raises while it is imported counts, whatever it raises: a module of ours
    that is missing is a defect of ours, and so is what a library raises once it is there.
    """
    named = _top(error.name or "") if isinstance(error, ImportError) else ""
    if named in _OURS or isinstance(error, MemoryError | RecursionError):
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [at for at, frame in enumerate(frames) if is_ours(frame.filename)]
    inner = [one for one in frames[max(ours, default=-1) + 1 :] if not one.filename.startswith("<")]
    if not isinstance(error, ImportError) and "<module>" not in {one.name for one in inner}:
        return ""
    tops = [_top(_inside(one.filename)) for one in reversed(inner)]
    found = [top for top in tops if top not in sys.stdlib_module_names]
    if isinstance(error, ModuleNotFoundError) or not found:
        found = [named, *found]
    return _package(next(filter(None, found), ""))


def _top(name: str) -> str:
    """The first part of a dotted name."""
    return name.partition(".")[0]


def _inside(filename: str) -> str:
    """A file from the folder on that its module is imported from."""
    path = Path(filename)
    folders = sorted(filter(None, sys.path), key=len, reverse=True)
    inside = (path.relative_to(one) for one in folders if path.is_relative_to(one))
    return next(inside, Path(path.name)).parts[0]


def _package(top: str) -> str:
    """The package that has a module."""
    tops = {_top(name): package for package, names in MODULES.items() for name in names}
    return tops.get(top, top)
