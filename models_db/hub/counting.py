"""What is counted of a configuration whose cost is not modelled, and what is said of any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from frozen_records import dataclass
from models_db.errors import ModelError
from models_db.hub.reading import Reading
from models_db.model import UNKNOWN_KEYS, Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Parameters of a model that a record has no fields for.

    Attributes:
        model_type: the type that was read.
        outer_type: the type around it, or "".
        title: what to call it.
        config: the file that was read.
        sha256: of that file.
        parts: parameters of the language model by part.
        outer: parameters of the parts around it; None where they are not counted.
        lacks: what a record has no field for.
        assumed: keys that are absent -> default of their class, as text.
        unread: keys that nobody here knows; they might change the model.
        remarks: what a reader should know, one line each.
    """

    model_type: str
    outer_type: str
    title: str
    config: Path
    sha256: str
    parts: Mapping[str, int]
    outer: Mapping[str, int] | None
    lacks: str
    assumed: Mapping[str, str]
    unread: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def text_parameters(self) -> int:
        """All parameters of the language model."""
        return sum(self.parts.values())

    @property
    def refusal(self) -> str:
        """Why there is no model file, in a line."""
        return (
            f"{self.config}: {self.model_type}: {self.text_parameters:,} parameters are counted "
            f"exactly, but the cost is not modelled: {self.lacks}"
        )


class NotModelledError(ModelError):
    """A model was read and its parameters were counted, but its cost is not modelled.

    Attributes:
        counted: the parameters.
    """

    def __init__(self, counted: Counted) -> None:
        super().__init__(counted.refusal)
        self.counted = counted


def model_parts(model: Model) -> dict[str, int]:
    """Parameters of a model by part; their sum is its total."""
    kinds, mixers = model.layer_kinds, model.mixers
    attending = sum(mixer in ("attention", "both") for mixer in mixers)
    recurring = sum(mixer in ("recurrence", "both") for mixer in mixers)
    parts = {
        "embedding": model.embedding_parameters + model.position_parameters,
        "attention": attending * model.attention_parameters,
        "recurrences": recurring * model.recurrence_parameters,
        "norms": model.layers * model.norm_parameters
        + model.final_norm_parameters
        + model.embedding_norm_parameters,
        "head": model.head_parameters,
    }
    if dense := kinds.count("dense"):
        parts["feed-forward"] = dense * model.mlp_parameters("dense")
    if sparse := kinds.count("moe"):
        parts["experts"] = sparse * model.mlp_parameters("moe")
    return {name: count for name, count in parts.items() if count}


def reading_remarks(reading: Reading) -> tuple[str, ...]:
    """What a reader should know about a reading, one line each."""
    lines = []
    if reading.unread:
        lines.append(f"{UNKNOWN_KEYS} {', '.join(reading.unread)}")
    if reading.nested and reading.outer is None:
        lines.append("only the language model (text_config); its other parts are left out")
    elif reading.outer:
        parts = ", ".join(f"{name} {count:,}" for name, count in reading.outer.items())
        lines.append(f"only the language model; around it, in {reading.outer_type}: {parts}")
    lines += [
        f"{key} is absent: {default}, the default of {reading.model_type} in transformers 5.23"
        for key, default in reading.assumed.items()
    ]
    lines += reading.notes
    if reading.parts is not None and reading.counted:
        parts = ", ".join(f"{name} {count:,}" for name, count in reading.counted.items())
        lines.append(f"parameters that no field of a record holds, and no cost: {parts}")
    if reading.quantized:
        lines.append(f"the weights are stored as {reading.quantized}; the record counts parameters")
    return tuple(lines)
