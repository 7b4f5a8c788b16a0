"""Named recipes of Megatron-Bridge, of which recipes of users change a few settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SOURCE = "NVIDIA-NeMo/Megatron-Bridge 067f987df03b8355b03192d88d70f1709fedf51a"
COMMIT = "Megatron-Bridge 067f987df0"
FILE = Path(__file__).with_name("bridge_recipes.jsonl")
"""A line for each name; `benchmarks/bridge_recipes.py` makes it from a checkout."""


def recipe_named(name: str) -> tuple[str, dict[str, Any]] | None:
    """What a recipe sets, and its full name, which says its chips; None: it is not known.

    Returns:
        Its name, and `values` by dotted fields, `model` on a hub, `tunes` and `formats`.
    """
    found = _rows()
    row = found.get(name)
    if row is not None and "is" in row:
        row = found[row["is"]]
    return None if row is None else (row["name"], row)


def recipe_names() -> list[str]:
    """The names of all recipes, the older ones too."""
    return list(_rows())


def _rows() -> dict[str, dict[str, Any]]:
    lines = FILE.read_text(encoding="utf-8").splitlines()[1:]
    return {row["name"]: row for row in map(json.loads, lines)}
