"""Published recipes of fine-tuning, and the defaults that are taken from them by one rule.

Sequence length: the median of recipes that pack examples into full sequences, since every token of
a predicted step counts. Sequences of a step, rank and dropout: the median of those that say them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from statistics import median_low
from typing import Any, TypeVar

from frozen_records import dataclass
from strict_yaml.cache import load_shipped

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One recipe as its file has it.

    Attributes:
        source: Key of `sources`.
        path: Of the file in that repository.
        job: "finetune" or "lora".
        model: What it trains.
        seq_len: Tokens of a sequence; None: as many as the longest example of a batch.
        packed: Whether examples fill sequences.
        sequences: Of a step over all chips; None: it says those of a chip alone.
        precision: Of the matrix multiplications.
        optimizer: Its name there.
        state: Format of the optimizer's moments; None: it does not say.
        recompute: Whether activations are recomputed.
        lora_rank, lora_alpha, lora_dropout: Of adapters; None: it trains all parameters.
        note: What else is worth knowing.
    """

    source: str
    path: str
    job: str
    model: str
    seq_len: int | None
    packed: bool
    sequences: int | None
    precision: str
    optimizer: str
    state: str | None
    recompute: bool
    lora_rank: int | None = None
    lora_alpha: int | None = None
    lora_dropout: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What recipes of one kind of job have in common: medians, the lower one of two.

    Attributes:
        recipes: How many there are.
        seq_len: Tokens of a sequence.
        seq_len_from, sequences_from: Which projects' recipes say so.
        sequences: Of a step.
        lora_rank, lora_dropout: Of adapters; None: there are none.
    """

    recipes: int
    seq_len: int
    seq_len_from: tuple[str, ...]
    sequences: int
    sequences_from: tuple[str, ...]
    lora_rank: int | None
    lora_dropout: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where recipes were read: the project, its files, and its repository at a commit."""

    project: str
    title: str
    url: str


@cache
def known_recipes() -> tuple[Recipe, ...]:
    """The shipped recipes, in the order of the file."""
    names = {field.name for field in fields(Recipe)}
    return tuple(
        Recipe(**{name: value for name, value in row.items() if name in names})
        for row in _content()["recipes"]
    )


@cache
def known_sources() -> dict[str, Source]:
    """Where they are from, by key."""
    return {key: Source(**source) for key, source in _content()["sources"].items()}


@cache
def usual_of(job: str) -> Usual:
    """What recipes of a kind of job, "finetune" or "lora", use."""
    own = [recipe for recipe in known_recipes() if recipe.job == job]
    packed = [recipe for recipe in own if recipe.packed]
    whole = [recipe for recipe in own if recipe.sequences is not None]
    ranks = _known([recipe.lora_rank for recipe in own])
    dropouts = _known([recipe.lora_dropout for recipe in own])
    return Usual(
        recipes=len(own),
        seq_len=median_low(_known([recipe.seq_len for recipe in packed])),
        seq_len_from=_projects(packed),
        sequences=median_low(_known([recipe.sequences for recipe in whole])),
        sequences_from=_projects(whole),
        lora_rank=median_low(ranks) if ranks else None,
        lora_dropout=median_low(dropouts) if dropouts else None,
    )


def _known(values: Sequence[_Number | None]) -> list[_Number]:
    return [value for value in values if value is not None]


def _projects(recipes: Sequence[Recipe]) -> tuple[str, ...]:
    """Whose they are, each once."""
    return tuple(dict.fromkeys(known_sources()[recipe.source].project for recipe in recipes))


def _content() -> dict[str, Any]:
    file = Path(__file__).with_name("recipes.yaml")
    content: dict[str, Any] = load_shipped(file.read_bytes(), "planner/recipes")
    return content
