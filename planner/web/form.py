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

EXAMPLES = {
    "model": """\
{
  "model_type": "llama",
  "hidden_size": 2048,
  "num_hidden_layers": 16,
  "num_attention_heads": 32,
  "num_key_value_heads": 8,
  "intermediate_size": 8192,
  "vocab_size": 128256,
  "max_position_embeddings": 4096
}
""",
    "hardware": """\
like: h100-sxm5-80
name: my-chip
memory:
  bandwidth:
    value: 6.7e12
    unit: B/s
    kind: assumed
    note: twice as much
""",
    "assumptions": """\
preset: calibrated
dp_overlap: 0.9
""",
}
"""What may be pasted in the place of a name, as short as it goes."""


def form() -> dict[str, Any]:
    """The fields in the order of the page, and the version that answers.

    A field has `name`, `label`, `help`, `kind` (`planner.question.asked.field.Kind`), `unit`,
    `default` (what is taken where nothing is given, as text), `panel`, `first` (not folded),
    `required`, `words` (what it may be; empty: anything, or too much to list) and `example` (the
    text of a file that it may be; empty: none).
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
        "words": _words(field),
        "example": EXAMPLES.get(field.name, ""),
    }


def _words(field: Asked) -> list[str]:
    """What it may be; of a switch, what beside on and off."""
    if field.also:
        return [field.also]
    return list(words_of(field.name)) if field.name in FIELDS_WITH_WORDS else []
