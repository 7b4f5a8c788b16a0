"""The form of a question, made from the declarations of its fields."""

from __future__ import annotations

from typing import Any

from planner.base.version import __version__
from planner.question.asked import BY_NAME
from planner.question.asked.field import Asked
from planner.question.asked.named import filled
from planner.question.asked.words import FIELDS_WITH_WORDS, words_of

FIRST = ("model", "hardware", "chips", "batch_tokens", "objective", "framework")
"""What the page asks before anything is unfolded."""
OTHER_PAGES = ("phases", "down", "resume_from", "calibration", "failure_site")
"""Fields whose answers are of another form, or that name files of the reader's machine."""


def form() -> dict[str, Any]:
    """The fields in the order of the page, and the version that answers.

    A field has `name`, `label`, `help`, `kind` (`planner.question.asked.field.Kind`), `unit`,
    `default` (what is taken where nothing is given, as text), `panel`, `first` (not folded),
    `required` and `words` (what it may be; empty: anything, or too much to list).
    """
    names = [*FIRST, *(name for name in BY_NAME if name not in (*FIRST, *OTHER_PAGES))]
    return {"version": __version__, "fields": [_field(BY_NAME[name]) for name in names]}


def _field(field: Asked) -> dict[str, Any]:
    return {
        "name": field.name,
        "label": field.name.replace("_", " "),
        "help": filled(field.description),
        "kind": field.kind,
        "unit": field.unit,
        "default": field.default_words,
        "panel": field.panel,
        "first": field.name in FIRST,
        "required": field.default is ...,
        "words": list(words_of(field.name)) if field.name in FIELDS_WITH_WORDS else [],
    }
