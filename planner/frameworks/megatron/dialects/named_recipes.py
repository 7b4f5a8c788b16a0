"""Named recipes of Megatron-Bridge and NeMo, of which recipes of users change a few settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipes:
    """The named recipes of a framework.

    Attributes:
        source: Its repository and commit.
        commit: The same in a few words.
        file: A line for each name; `benchmarks/named_recipes.py` makes it from a checkout.
    """

    source: str
    commit: str
    file: Path


_HERE = Path(__file__).parent
BRIDGE = Recipes(
    source="NVIDIA-NeMo/Megatron-Bridge 067f987df03b8355b03192d88d70f1709fedf51a",
    commit="Megatron-Bridge 067f987df0",
    file=_HERE / "bridge_recipes.jsonl",
)
NEMO = Recipes(
    source="NVIDIA/NeMo 8cfedd7203462cb251a914e700e5605444277561",
    commit="NeMo 8cfedd7203",
    file=_HERE / "nemo_recipes.jsonl",
)


def recipe_named(recipes: Recipes, name: str) -> dict[str, Any] | None:
    """What a recipe sets; None: it is not known.

    Returns:
        `name`, its full one, which says its chips in Megatron-Bridge; `values` by fields; `calls`
        of Megatron-Bridge, `model` of NeMo.
    """
    found = _rows(recipes)
    row = found.get(name)
    return found[row["is"]] if row is not None and "is" in row else row


def recipe_names(recipes: Recipes) -> list[str]:
    """The names of all recipes, the older ones too."""
    return list(_rows(recipes))


def _rows(recipes: Recipes) -> dict[str, dict[str, Any]]:
    lines = recipes.file.read_text(encoding="utf-8").splitlines()[1:]
    return {row["name"]: row for row in map(json.loads, lines)}
