"""Writes docs/models-types.md: which model types of transformers are read, and how exactly.

python benchmarks/model_types.py --write docs/models-types.md

The counts of transformers are those that `.ci/count_types.py` kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from models_db.hub.importing import counts_of, no_record_for
from models_db.hub.reading import Reading, known_types, read_config

KEPT = Path(__file__).resolve().parents[1] / "tests" / "models_db" / "hub" / "counted.json"
MAPPINGS = {
    "causal": (
        "Causal language models",
        "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    ),
    "encoder-decoder": (
        "Encoder-decoder models",
        "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    ),
    "vision": (
        "Vision-language models",
        "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    ),
}
# Classes of the causal mapping that hold more than a language model.
_WHOLE = ("FuyuForCausalLM", "GitForCausalLM", "Phi4MultimodalForCausalLM")
EXACT, TEXT, REFUSED, WRONG, BROKEN = "exact", "language model", "refused", "wrong", "not built"

_INTRODUCTION = """# Which model types of Hugging Face are read?

Which `model_type` of transformers {version} [`planner models import`](models.md) reads, for the
types of three of its mappings. This page is written by
`python benchmarks/model_types.py --write docs/models-types.md`; a test compares it with the reader.

The number of parameters is what transformers builds, without memory, from the default
configuration of the type's class (where that cannot be built or contradicts itself, with a few
values of published models: `.ci/count_types.py` names them). It is compared with the reader's, and
so is that of a second configuration in which as many keys as possible have another value: heads,
widths, layers, experts, biases, tied embeddings. Both are kept in
`tests/models_db/hub/counted.json`.

- **exact**: the reader counts as many, to the last parameter, from both configurations. A router's
  correction of its scores counts, which transformers keeps as a buffer and not as a parameter. Then
  *a model file* is made of it, or *no model file*: the cost is refused, with the reason.
- **language model**: the one inside is read; what stands around it is not counted.
- **refused**: the reader says why. **not built**: transformers {version} builds neither the default
  configuration nor another that is known here.
"""


class State(NamedTuple):
    """How a type is read.

    Attributes:
        word: one of the words above.
        reason: what follows it on the page.
    """

    word: str
    reason: str


def kept_types() -> tuple[str, Mapping[str, Any]]:
    """The version of transformers, and what is kept of each type by mapping and name."""
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    return kept["transformers"], kept["types"]


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as it differs from another."""
    found = dict(base)
    for key, value in own.items():
        inner = found.get(key)
        both = isinstance(value, dict) and isinstance(inner, dict)
        found[key] = merged(inner, value) if both and isinstance(inner, dict) else value
    return found


def cases(kept: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """The configurations that are kept of a type, with transformers' counts."""
    if "config" in kept:
        yield dict(kept["config"]), kept["count"]
    if "varied" in kept:
        yield merged(kept["config"], kept["varied"]), kept["varied_count"]


def state(name: str, mapping: str, kept: Mapping[str, Any]) -> State:
    """How a type is read."""
    if "error" in kept:
        return State(BROKEN, str(kept["error"]).partition(":")[0])
    if "config" not in kept:
        if name not in known_types():
            return State(REFUSED, "not known")
        return State(REFUSED, "its default configuration")
    form = ""
    for config, count in cases(kept):
        reading = read_config(config, "config.json")
        text, whole = counts_of(reading)
        partly = mapping == "causal" and kept["class"].endswith("ForCausalLM")
        if reading.nested and reading.outer is None and not partly:
            return State(TEXT, "")
        found = text if partly and kept["class"] not in _WHOLE else whole
        if found != count:
            return State(WRONG, f"{found - count:+,}")
        form = form or _form(reading)  # of the default configuration
    return State(EXACT, form)


def _form(reading: Reading) -> str:
    """Whether a model file is made, or why not."""
    lacks = no_record_for(reading)
    return f"no model file: {lacks}" if lacks else "a model file"


def page() -> str:
    """The page about all types."""
    version, types = kept_types()
    parts = [_INTRODUCTION.format(version=version)]
    for mapping, (title, variable) in MAPPINGS.items():
        states = {
            key.partition("/")[2]: (state(key.partition("/")[2], mapping, kept), kept)
            for key, kept in types.items()
            if key.startswith(f"{mapping}/")
        }
        parts.append(f"## {title}\n\n{counted_words(variable, [s for s, _ in states.values()])}\n")
        parts.append("\n".join(_rows(states)) + "\n")
    return "\n".join(parts)


def counted_words(variable: str, states: list[State]) -> str:
    """How many types of a mapping are read, in a sentence."""
    total = len(states)
    said = [(word, sum(found.word == word for found in states)) for word in
            (EXACT, TEXT, REFUSED, BROKEN, WRONG)]  # fmt: skip
    listed = ", ".join(f"{count} {word}" for word, count in said if count)
    exact = said[0][1]
    return f"`{variable}`: {total} types; {listed}. {exact / total:.0%} are read exactly."


def _rows(states: Mapping[str, tuple[State, Mapping[str, Any]]]) -> Iterator[str]:
    """The table of a mapping."""
    yield "| `model_type` | parameters | read |"
    yield "|---|---:|---|"
    for name, (found, kept) in sorted(states.items()):
        count = f"{kept['count']:,}" if "count" in kept else ""
        words = found.word + (f": {found.reason}" if found.reason else "")
        yield f"| `{name}` | {count} | {words} |"


def main() -> None:
    """Prints how many types are read, and writes the page."""
    parser = argparse.ArgumentParser(description="Which model types of transformers are read.")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page")
    options = parser.parse_args()
    text = page()
    if options.write is not None:
        options.write.write_text(text, encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("`MODEL_FOR"):
            print(line)


if __name__ == "__main__":
    main()
