"""The pydantic building blocks of the file schemas: quantities with a fixed unit, and sources.

Imported only when a file is loaded, because pydantic takes longer to import than a record to load.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from frozen_records import dataclass
from hardware_db.quantity import KINDS, UNITS

_SMALLEST, _LARGEST = 1e-30, 1e30  # nothing of a chip is beyond, in units of the SI
_BITS = 2048  # longer whole numbers are not written out


class Strict(BaseModel):
    """A mapping with exactly the declared fields, without type coercion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def fault(message: str) -> PydanticCustomError:
    """A validation error whose text is shown as it is."""
    return PydanticCustomError("hardware", message.replace("{", "{{").replace("}", "}}"))


def _number(value: Any) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fault(f"a number is required, not {short(value)}")
    if not abs(value) <= sys.float_info.max:  # also true of NaN
        raise fault(f"a finite number is required, not {short(value)}")
    if value and not _SMALLEST <= abs(value) <= _LARGEST:
        raise fault(f"{short(value)}: a number of 0, or from {_SMALLEST:g} to {_LARGEST:g} in size")
    return value


def short(value: Any) -> str:
    """A wrong value as YAML shows it, cut short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > _BITS:
        return "a very long number"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _value(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        if not value:
            raise fault("the list of numbers is empty")
        if all(isinstance(row, list) for row in value):
            return tuple(tuple(_number(item) for item in row) for row in value)
        return tuple(_number(item) for item in value)
    return _number(value)


def _text(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        raise fault(f"a non-empty text is required, not {short(value)}")
    return value


@dataclass(frozen=True, eq=False)
class Checked:
    """An annotation: a check after validation, and what the JSON Schema says of it.

    Attributes:
        check: Returns its argument or raises.
        schema: Keywords added to the schema of the annotated type.
    """

    check: Callable[[Any], Any]
    schema: dict[str, Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, core: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(core), **self.schema}


def one_of(*allowed: str) -> Checked:
    """Restricts a string to some words; the error lists them."""

    def check(value: str) -> str:
        if value not in allowed:
            raise fault(f"{value!r} is not one of {', '.join(allowed)}")
        return value

    return Checked(check, {"enum": list(allowed)})


def _starting(*allowed: str) -> Checked:
    """Restricts a string to some beginnings; the error lists them."""

    def check(value: str) -> str:
        if not value.startswith(allowed):
            raise fault(f"{short(value)} does not start with {' or '.join(allowed)}")
        return value

    return Checked(check, {"pattern": f"^({'|'.join(map(re.escape, allowed))})"})


Text = Annotated[str, BeforeValidator(_text)]
_NUMBER = {"type": "number"}
_VECTOR = {"type": "array", "items": {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}}


class SourceModel(Strict):
    """A public document: a title and where to find it."""

    title: Text = Field(description="Title of the document.")
    url: Annotated[Text, _starting("http://", "https://")] | None = Field(
        default=None, description="Where it is."
    )
    doi: Annotated[Text, _starting("10.")] | None = Field(
        default=None, description="Digital object identifier."
    )
    arxiv: Text | None = Field(default=None, description="arXiv number.")
    document: Text | None = Field(default=None, description="Document number of the publisher.")
    accessed: Text | None = Field(default=None, description="When it was read, as YYYY-MM-DD.")


def _keys(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, list) and value and all(isinstance(key, str) for key in value):
        return value
    raise fault(f"a source key or a list of source keys is required, not {short(value)}")


_KEY_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_VALUE_SCHEMA = {"anyOf": [_NUMBER, _VECTOR, {"type": "null"}]}


class QuantityModel(Strict):
    """A number, its unit, how it is known, and its sources."""

    value: Annotated[Any, BeforeValidator(_value), WithJsonSchema(_VALUE_SCHEMA)] = Field(
        description="The number, or list of numbers; null where it is not published."
    )
    unit: Annotated[Text, one_of(*UNITS)] = Field(description="Unit of the value.")
    kind: Annotated[Text, one_of(*KINDS)] = Field(
        description="How the number is known; an assumed one needs a note."
    )
    source: Annotated[Any, BeforeValidator(_keys), WithJsonSchema(_KEY_SCHEMA)] = Field(
        default=None, description="Key, or keys, of `sources`."
    )
    note: Text | None = Field(
        default=None, description="How the number was obtained, or what is special about it."
    )
    uncertainty: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Standard deviation of a fitted number over the number.",
    )
    rows: int | None = Field(
        default=None, ge=0, description="Measurements that a fitted number rests on."
    )


def _complete(quantity: QuantityModel) -> QuantityModel:
    if quantity.kind == "assumed" and not quantity.note:
        raise fault("an assumed number needs a note that says how it was obtained")
    if quantity.kind != "assumed" and not quantity.source:
        raise fault(f"a {quantity.kind} number needs a source")
    if quantity.value is None and not quantity.note:
        raise fault("an unpublished number (null) needs a note")
    return quantity


def _right_unit(quantity: QuantityModel, unit: str) -> None:
    if quantity.unit != unit:
        raise fault(f"unit: {quantity.unit!r} given, {unit!r} required here")


def _part(unit: str, value: dict[str, Any]) -> dict[str, Any]:
    """What the schema of a quantity says beyond its form: unit and kind of value."""
    return {"properties": {"unit": {"const": unit}, "value": value}}


def scalar(
    unit: str,
    *,
    zero: bool = False,
    high: float = math.inf,
    whole: bool = False,
    null: bool = False,
) -> Checked:
    """Restricts a quantity to one number.

    Args:
        unit: The only unit allowed.
        zero: Whether zero is allowed.
        high: Largest value allowed.
        whole: Whether only whole numbers are allowed.
        null: Whether null (not published) is allowed.
    """

    def check(quantity: QuantityModel) -> QuantityModel:
        value = quantity.value
        _right_unit(quantity, unit)
        if value is None and null:
            return _complete(quantity)
        if value is None or isinstance(value, tuple):
            raise fault(f"value: one number is required here, not {short(value)}")
        if value < 0 or (value == 0 and not zero) or value > high:
            lower = "zero or more" if zero else "a positive number"
            upper = f" of at most {high:g}" if math.isfinite(high) else ""
            raise fault(f"value: {lower}{upper} is required, not {value:g}")
        if whole and value != int(value):
            raise fault(f"value: a whole number is required, not {value:g}")
        return _complete(quantity)

    number: dict[str, Any] = {"minimum" if zero else "exclusiveMinimum": 0}
    number |= {"maximum": high} if math.isfinite(high) else {}
    kinds = ["integer" if whole else "number", *(["null"] if null else [])]
    return Checked(check, _part(unit, {"type": kinds, **number}))


def vector(unit: str, *, length: int | None = None, whole: bool = False) -> Checked:
    """Restricts a quantity to a list of positive numbers."""

    def check(quantity: QuantityModel) -> QuantityModel:
        value = quantity.value
        _right_unit(quantity, unit)
        if not isinstance(value, tuple) or any(isinstance(row, tuple) for row in value):
            raise fault(f"value: a list of numbers is required here, not {short(value)}")
        if length is not None and len(value) != length:
            raise fault(f"value: {length} numbers are required here, not {len(value)}")
        if any(item <= 0 or (whole and item != int(item)) for item in value):
            kind = "positive whole" if whole else "positive"
            raise fault(f"value: every number must be {kind}, not {list(value)}")
        return _complete(quantity)

    number = {"type": "integer" if whole else "number", "exclusiveMinimum": 0}
    size = {} if length is None else {"minItems": length, "maxItems": length}
    return Checked(check, _part(unit, {"type": "array", "items": number, "minItems": 1, **size}))


AnyQuantity = Annotated[QuantityModel, AfterValidator(_complete)]
Chips = Annotated[QuantityModel, scalar("chip", whole=True)]
Shape = Annotated[QuantityModel, vector("chip", whole=True)]
Count = Annotated[QuantityModel, scalar("1", whole=True)]
Ratio = Annotated[QuantityModel, scalar("1")]
RatioOrZero = Annotated[QuantityModel, scalar("1", zero=True)]
Fraction = Annotated[QuantityModel, scalar("1", high=1.0)]
Watts = Annotated[QuantityModel, scalar("W")]
Area = Annotated[QuantityModel, scalar("m2")]
WattsOrZero = Annotated[QuantityModel, scalar("W", zero=True)]
Bytes = Annotated[QuantityModel, scalar("B")]
Bandwidth = Annotated[QuantityModel, scalar("B/s")]
SecondsOrZero = Annotated[QuantityModel, scalar("s", zero=True)]
EnergyPerByte = Annotated[QuantityModel, scalar("J/B")]
EnergyPerByteOrZero = Annotated[QuantityModel, scalar("J/B", zero=True)]
EnergyPerFlop = Annotated[QuantityModel, scalar("J/FLOP")]
EnergyPerMac = Annotated[QuantityModel, scalar("J/MAC")]
FlopPerCycle = Annotated[QuantityModel, scalar("FLOP/cycle")]
PublishedCount = Annotated[QuantityModel, scalar("1", whole=True, null=True)]
PublishedBytes = Annotated[QuantityModel, scalar("B", null=True)]
PublishedBandwidth = Annotated[QuantityModel, scalar("B/s", null=True)]
PublishedClock = Annotated[QuantityModel, scalar("Hz", null=True)]
PublishedPeak = Annotated[QuantityModel, scalar("FLOP/s", null=True)]
ClockLevels = Annotated[QuantityModel, vector("1")]
Tile = Annotated[QuantityModel, vector("1", length=2, whole=True)]
