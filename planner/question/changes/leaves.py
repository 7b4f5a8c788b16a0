"""The fields of records that a question may change, from the schemas of their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from frozen_records import dataclass
from hardware_db import Calibration
from planner.assumptions.assumptions import ORIGIN, Assumptions

CHIP, CLUSTER, MODEL, ASSUMPTIONS, CALIBRATION = (
    "chip", "cluster", "model", "assumptions", "calibration",
)  # fmt: skip
RECORDS = (CHIP, CLUSTER, MODEL, ASSUMPTIONS, CALIBRATION)
"""What holds fields, by the first step of their full paths."""
_PROVENANCE = ("sources", "defaults", "note", "aliases", "published")
_ENDS = {"_flop_per_s": "FLOP/s", "_bytes_per_s": "B/s", "_s": "s", "_bytes": "B"}
Form = Literal["number", "numbers", "word", "words", "switch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A field that may be changed.

    Attributes:
        record: One of `RECORDS`.
        path: Dotted, in the record.
        form: How a value is written.
        unit: SI, of numbers; empty: pure ones.
        whole: Whether only whole numbers are taken.
        value: As the record has it; None: it has none.
        node: The same with its provenance, where the record keeps one.
    """

    record: str
    path: str
    form: Form
    unit: str = ""
    whole: bool = False
    value: Any = None
    node: Any = None

    @property
    def full_path(self) -> str:
        """With the record before it."""
        return f"{self.record}.{self.path}"


def leaves_of(record: str, schema: type[BaseModel], data: Mapping[str, Any]) -> Iterator[Leaf]:
    """The fields of a record's file.

    Args:
        record: Which one.
        schema: Of its file.
        data: Its content: names of parts of lists come from it.
    """
    for leaf in _fields(schema, data, ""):
        yield replace(leaf, record=record)


def _fields(schema: type[BaseModel], data: Any, path: str) -> Iterator[Leaf]:
    for name, field in schema.model_fields.items():
        if name not in (*_PROVENANCE, "name"):
            node = data.get(name) if isinstance(data, Mapping) else None
            yield from _of_type(
                field.annotation, field.metadata, node, f"{path}.{name}" if path else name
            )


def _of_type(hint: Any, checks: Sequence[Any], node: Any, path: str) -> Iterator[Leaf]:
    """The fields below a place whose type is known."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _of_type(inside[0], [*checks, *inside[1:]], node, path)
    elif origin in (Union, UnionType):
        others = [one for one in inside if one is not type(None)]
        if len(others) == 1:  # else the chip of a cluster, which has fields of its own
            yield from _of_type(others[0], checks, node, path)
    elif origin is list and _is_model(inside[0]):
        for part in node or ():
            yield from _fields(inside[0], part, f"{path}.{part['name']}")
    elif origin is dict:
        for key, part in (node or {}).items():
            yield from _of_type(inside[1], (), part, f"{path}.{key}")
    elif _is_model(hint):
        is_number = {"value", "unit"} <= hint.model_fields.keys()
        yield from [_number(hint, checks, node, path)] if is_number else _fields(hint, node, path)
    elif hint in (str, bool) or origin is Literal or (origin is list and _holds_words(inside[0])):
        form: Form = "words" if origin is list else "switch" if hint is bool else "word"
        yield Leaf(record="", path=path, form=form, value=node, node=node)


def _holds_words(hint: Any) -> bool:
    """Whether a list is one of words; lists of quantities, such as the slices of a torus, stay."""
    return get_origin(hint) is Literal


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def _number(schema: type[BaseModel], checks: Sequence[Any], node: Any, path: str) -> Leaf:
    """A quantity: its unit is in its check, or in its schema."""
    stated = [one.schema for one in checks if isinstance(getattr(one, "schema", None), dict)]
    said = stated[-1].get("properties", {}) if stated else {}
    unit = said.get("unit", {}).get("const") or get_args(schema.model_fields["unit"].annotation)[0]
    kinds = said.get("value", {}).get("type", "integer")
    numbers = kinds == "array"
    return Leaf(
        record="",
        path=path,
        form="numbers" if numbers else "number",
        unit="" if unit == "1" else unit,
        whole="integer" in (said["value"]["items"]["type"] if numbers else kinds),
        value=node.get("value") if isinstance(node, Mapping) else None,
        node=node,
    )


def leaves_of_assumptions() -> Iterator[Leaf]:
    """The fields of `Assumptions`; their values follow from the rest of the question."""
    hints = get_type_hints(Assumptions)  # without their ranges: validation has those
    forms: dict[Any, Form] = {float: "number", int: "number", bool: "switch", str: "word"}
    for name, hint in hints.items():
        if name not in ORIGIN:
            unit = next((unit for end, unit in _ENDS.items() if name.endswith(end)), "")
            form = forms.get(hint, "words")
            yield Leaf(record=ASSUMPTIONS, path=name, form=form, unit=unit, whole=hint is int)


def leaves_of_calibration(constants: Calibration) -> Iterator[Leaf]:
    """The fitted constants; intervals are what is known of errors and no constants."""
    for path, value in constants.values.items():
        if not path.startswith("intervals."):
            unit = constants.quantities[path].unit
            yield Leaf(
                record=CALIBRATION, path=path, form="number", value=value,
                unit="" if unit == "1" else unit,
            )  # fmt: skip
