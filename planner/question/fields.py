"""Types of the fields of job and plan files: what is accepted, and what `planner schema` says.

A number may be text with its unit (`80GB`, `4Mi`, `2h`), and a Python caller may pass a numpy
number or a `pathlib.Path`; everything else is as strict as pydantic's strict mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    WithJsonSchema,
)
from pydantic_core import core_schema

from frozen_records import dataclass
from planner.base.counts import whole_within
from planner.base.errors import InputError
from planner.base.fields import (
    POSITIVE,
    Percent,
    as_number,
    number_schema,
    plain,
    plain_whole,
    refusal,
)
from planner.base.messages import not_one_of, shown
from planner.base.numerals import LEAST, MOST, beyond
from planner.base.units import (
    parse_bytes,
    parse_bytes_per_s,
    parse_count,
    parse_joules,
    parse_mm2,
    parse_seconds,
    parse_watts,
    parse_whole,
    parse_within,
    pattern_of,
)
from planner.base.vocabulary import LAYOUTS, PER_OPERATION
from planner.plan.layout_text import parse_layout, short_layout_text
from planner.plan.ranks import as_layout, part_pattern
from planner.question.asked.usual import LEAST_PUE, MOST_PUE, RANGE

_MOST = 4  # wrong words of one list that are reported
_LARGEST_COUNT = 10**15
_LARGEST_AMOUNT = 1e12


def _reads(
    parse: Callable[[str, str], float], what: str, of_number: Callable[[Any], Any] = plain
) -> BeforeValidator:
    """Accepts text with a unit where a number is meant; what is below 0 is told as it was typed."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return of_number(value)
        try:
            number = parse(value, what)
        except InputError as error:
            raise refusal(str(error).removeprefix(f"{what}: ")) from error
        if number < 0.0 and value.strip()[-1:].isalpha():  # the limit is told in other units
            raise refusal(f"{shown(value)}: must be greater than 0")
        return number

    return BeforeValidator(read)


_WHOLE = {"type": "integer", "minimum": 1}


def _large_enough(value: float) -> float:
    """A number above 0 by which others can be divided."""
    if problem := beyond(value):
        raise refusal(f"{shown(value)}: {problem}")
    return value


_LargeEnough = AfterValidator(_large_enough)
_Positive = Annotated[float, Field(gt=0, le=MOST, allow_inf_nan=False), _LargeEnough]
Whole = Annotated[
    int,
    Field(ge=1, le=_LARGEST_COUNT),
    _reads(parse_whole, "number", plain_whole),
    number_schema("count", _WHOLE),
]
Some = Annotated[
    int, Field(ge=0, le=_LARGEST_COUNT), _reads(parse_whole, "number", plain_whole),
    number_schema("count", {"type": "integer", "minimum": 0}),
]  # fmt: skip
Count = Annotated[
    _Positive, _reads(parse_count, "number"), number_schema("count", POSITIVE, "4Mi", 3e6)
]
Bytes = Annotated[
    _Positive, _reads(parse_bytes, "memory"), number_schema("bytes", POSITIVE, "80GB", 72e9)
]
BytesPerSecond = Annotated[
    _Positive, _reads(parse_bytes_per_s, "bandwidth"),
    number_schema("bandwidth", POSITIVE, "200GB/s", 2e11),
]  # fmt: skip
Watts = Annotated[
    _Positive, _reads(parse_watts, "power"), number_schema("watts", POSITIVE, "10MW", 1e7)
]
Cap = Annotated[  # each chip says from where to where
    float, Field(gt=0, allow_inf_nan=False), _reads(parse_watts, "power"),
    number_schema("watts", POSITIVE, "10MW", 1e7),
]  # fmt: skip
SquareMillimetres = Annotated[
    _Positive, _reads(parse_mm2, "area"), number_schema("area", POSITIVE, "5000mm2", 6.7e6)
]
Seconds = Annotated[
    _Positive, _reads(parse_seconds, "time"), number_schema("seconds", POSITIVE, "2s", 0.5)
]
MOST_MARGIN = 1.0  # what a chip has
Joules = Annotated[
    _Positive, _reads(parse_joules, "energy"), number_schema("joules", POSITIVE, "20GWh")
]
Money = Annotated[
    float, Field(gt=0, le=_LARGEST_AMOUNT, allow_inf_nan=False), _LargeEnough,
    _reads(parse_count, "money"), number_schema("count", POSITIVE, "5M", 5e6),
]  # fmt: skip
Margin = Annotated[
    float,
    Field(gt=0, le=MOST_MARGIN, allow_inf_nan=False),
    Percent,
    number_schema("share", {**POSITIVE, "maximum": MOST_MARGIN}, 0.9, "90%"),
]
Dropped = Annotated[
    float,
    Field(ge=0, lt=1, allow_inf_nan=False),
    Percent,
    number_schema("share", {"type": "number", "minimum": 0, "exclusiveMaximum": 1}, 0.05, "5%"),
]
_MONTH_S = 365.25 / 12 * 86400.0


def _of_month(value: Any) -> Any:
    """Hours a month as the share of the time that they are; a share as it is."""
    if not isinstance(value, str) or re.fullmatch(pattern_of("share"), value):
        return value
    try:
        share = parse_seconds(value, "time") / _MONTH_S if re.search("[a-z]", value) else value
    except InputError as error:
        raise refusal(
            f"{shown(value)} is no share of the time or hours a month: 2% or 15h"
        ) from error
    if isinstance(share, float) and not 0.0 <= share < 1.0:
        raise refusal(f"{shown(value)}: must be at least 0 and less than a month, which has 730 h")
    return share


Maintenance = Annotated[
    float,
    Field(ge=0, lt=1, allow_inf_nan=False),
    Percent,
    BeforeValidator(_of_month),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                {"type": "string", "pattern": pattern_of("share")},
                {"type": "string", "pattern": pattern_of("seconds").replace(")?\\s*$", ")\\s*$")},
            ],
            "examples": [0.02, "2%", "15h"],
        }
    ),
]
_MOST_IMAGES = 10_000
Images = Annotated[
    int,
    Field(ge=0, le=_MOST_IMAGES),
    _reads(parse_whole, "number", plain_whole),
    number_schema("count", {"type": "integer", "minimum": 0, "maximum": _MOST_IMAGES}),
]
ALL_POINTS = "all"
_MOST_POINTS = 10_000


def _layout(value: Any) -> Any:
    """`uniform`, `uneven` or the layers of every chunk; text that is none of them is refused."""
    if not isinstance(value, str) or (text := value.strip()) in LAYOUTS:
        return value if not isinstance(value, str) else text
    if re.fullmatch("[a-z-]{3,}", text):
        raise refusal(f"{not_one_of(text, LAYOUTS)}, nor layers such as 7,8*14,7")
    try:
        return short_layout_text(parse_layout(text))
    except InputError as error:
        raise refusal(str(error).removeprefix("layout: ")) from error


def _clocks(value: Any) -> Any:
    """True, False, or the word for a clock of each operation."""
    if isinstance(value, bool) or value == PER_OPERATION:
        return value
    raise refusal(f"{shown(value)} is not true, false or {PER_OPERATION}")


Clocks = Annotated[
    bool | str,
    BeforeValidator(_clocks),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"const": PER_OPERATION}]}),
]


def _points(value: Any) -> Any:
    """`all`, or the whole number in a text."""
    number = plain_whole(value)
    if number == ALL_POINTS:
        return number
    if isinstance(number, bool) or not isinstance(number, int | float | str):
        raise refusal(f"{shown(value)} is not {ALL_POINTS} or a whole number")
    try:
        return whole_within(number, "number", 1, _MOST_POINTS, beside=f"{ALL_POINTS} or ")
    except InputError as error:
        raise refusal(str(error).removeprefix("number: ")) from error


LayerLayout = Annotated[str, BeforeValidator(_layout), WithJsonSchema({"type": "string"})]
FrontPoints = Annotated[
    int | Literal["all"],
    BeforeValidator(_points),
    WithJsonSchema({"anyOf": [_WHOLE, {"type": "string", "pattern": f"^({ALL_POINTS}|[0-9]+)$"}]}),
]
Amount = Annotated[
    float, Field(ge=0, le=_LARGEST_AMOUNT, allow_inf_nan=False), BeforeValidator(as_number)
]
Pue = Annotated[
    float,
    Field(ge=LEAST_PUE, le=MOST_PUE, allow_inf_nan=False),
    BeforeValidator(as_number),
    WithJsonSchema(
        {"type": "number", "minimum": LEAST_PUE, "maximum": MOST_PUE, "examples": [1.1]}
    ),
]
_PRODUCT = re.compile(r"\s*([0-9]{1,15})\s*[xX*]\s*([0-9]{1,15})\s*")


def _product(value: Any) -> Any:
    """`8192x132` as the number that it is; anything else as it is."""
    found = isinstance(value, str) and _PRODUCT.fullmatch(value)
    return int(found[1]) * int(found[2]) if found else value


def _numbers(value: Any) -> Any:
    """`64,132`, a list, or one number as the distinct whole numbers that they are, ascending."""
    given = value.split(",") if isinstance(value, str) else value
    given = list(given) if isinstance(given, list | tuple) else [given]
    found, problems = [], []
    for item in given:
        text = item.strip() if isinstance(item, str) else item
        try:
            number = parse_whole(text, "number") if isinstance(text, str) else plain_whole(text)
        except InputError as error:
            problems.append(str(error).removeprefix("number: "))
            continue
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST_PES:
            problems.append(f"{shown(item)} is not a whole number from 1 to {_MOST_PES:,}")
            continue
        found.append(number)
    if problems or not found:
        raise refusal("\n".join(problems[:_MOST]) or "[] names no number, e.g. 64,132")
    return tuple(sorted(set(found)))


_MOST_PES = 10**9
_LIST = {"type": "array", "items": _WHOLE, "minItems": 1}
Pes = Annotated[
    tuple[int, ...],
    BeforeValidator(_numbers),
    WithJsonSchema({"anyOf": [_LIST, _WHOLE, {"type": "string", "examples": ["64,132"]}]}),
]
TotalPes = Annotated[
    int,
    Field(ge=1, le=_LARGEST_COUNT),
    _reads(parse_whole, "number", plain_whole),
    BeforeValidator(_product),
    WithJsonSchema({"anyOf": [_WHOLE, {"type": "string", "examples": ["8192x132"]}]}),
]


def range_of(chips: int | str) -> tuple[int, int]:
    """The fewest and the most chips of a number of them, or of a range such as `512..4096`."""
    if isinstance(chips, int):
        return chips, chips
    fewest, most = chips.split(RANGE)
    return int(fewest), int(most)


def _range_or_whole(value: Any, whole: Callable[[Any], int]) -> int | str:
    """A whole number, or a range of them as text such as `512..4096`."""
    if not isinstance(value, str) or RANGE not in value:
        return whole(value)
    ends = [end.strip() for end in value.split(RANGE)]
    try:
        fewest, most = (parse_whole(end, "number") for end in ends)
    except (InputError, ValueError) as error:
        raise refusal(f"{shown(value)} is not a range of whole numbers, e.g. {_RANGE}") from error
    if not 1 <= fewest <= most <= _LARGEST_COUNT:
        near = [min(max(end, 1), _LARGEST_COUNT) for end in sorted((fewest, most))]
        raise refusal(
            f"{shown(value)} is not a range from at least 1 up; nearest: {near[0]}{RANGE}{near[1]}"
        )
    return most if fewest == most else f"{fewest}{RANGE}{most}"


def _within(value: Any) -> Any:
    """Seconds as the number that they are; with a chance the text."""
    if isinstance(value, str):
        try:
            seconds, chance = parse_within(value, "time")
        except InputError as error:
            raise refusal(str(error).removeprefix("time: ")) from error
    else:
        seconds, chance = plain(value), None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise refusal(f"{shown(value)} is no deadline; write 60d, 60d@90% or seconds")
    if beyond(seconds):
        raise refusal(f"{shown(value)} is no deadline; allowed: {LEAST:g} to {MOST:g} s")
    return float(seconds) if chance is None else str(value).strip()


Within = Annotated[
    _Positive | str,
    BeforeValidator(_within),
    WithJsonSchema(
        {"anyOf": [POSITIVE, {"type": "string"}], "examples": ["60d", "60d@90%", 5184000]}
    ),
]
_AS_IT_IS = core_schema.plain_serializer_function_ser_schema(lambda chips: chips)
_RANGE = f"512{RANGE}4096"
ChipNumbers = Annotated[
    int | str,
    GetPydanticSchema(
        lambda _, schema_of: core_schema.no_info_wrap_validator_function(
            _range_or_whole, schema_of(Whole), serialization=_AS_IT_IS
        )
    ),
    WithJsonSchema(
        {
            "anyOf": [
                _WHOLE,
                {"type": "string", "pattern": pattern_of("count")},
                {"type": "string", "pattern": rf"^[^.]+{re.escape(RANGE)}[^.]+$"},
            ],
            "examples": [4096, _RANGE],
        }
    ),
]
NameOrPath = Annotated[str, BeforeValidator(plain), WithJsonSchema({"type": "string"})]


@dataclass(frozen=True, slots=True)
class _Placed:
    """Axes, each at most once, or parts of axes with their sizes; checked here, in the schema."""

    axes: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        words = {"type": "string", "enum": list(self.axes)}
        parts = {"type": "string", "pattern": part_pattern(self.axes)}
        return {"anyOf": [{"type": "array", "items": item} for item in (words, parts)]}

    def _checked(self, words: list[str]) -> list[str]:
        if not words:
            raise refusal(f"[] names none of {', '.join(self.axes)}")
        layout = as_layout(words)
        sizeless = [word for word in words if as_layout([word]) is None]
        if layout is None and len(sizeless) < len(words):
            hint = "is no part of an axis; every part has a size, as in 'fsdp 16'"
            raise refusal("\n".join(f"{shown(word)} {hint}" for word in sizeless[:_MOST]))
        named = words if layout is None else [axis for axis, _ in layout]
        if wrong := [axis for axis in dict.fromkeys(named) if axis not in self.axes]:
            raise refusal("\n".join(not_one_of(axis, self.axes) for axis in wrong[:_MOST]))
        if layout is None and len(set(words)) < len(words):
            text = f"{shown(words)} names an axis twice; parts have sizes, as in 'fsdp 16'"
            raise refusal(text)
        return words


def placed(axes: Iterable[str]) -> Any:
    """A list of axes, or of parts of axes such as `fsdp 16`, innermost first."""
    return _Placed(tuple(axes))
