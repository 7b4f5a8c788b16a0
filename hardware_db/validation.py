"""Checks a parsed file against its schema and words every mistake with its path."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from hardware_db.checks import chip_problems, cluster_problems
from hardware_db.errors import (
    MOST_MISTAKES,
    MOST_UNKNOWN,
    UNKNOWN,
    HardwareError,
    nearest,
    nearest_names,
)
from hardware_db.provenance import source_problems
from hardware_db.reading import record_names
from hardware_db.schema_base import AnyQuantity, QuantityModel, short
from hardware_db.schema_chip import ChipModel
from hardware_db.schema_cluster import ClusterModel, TableModel
from strict_yaml.text import YamlText

M = TypeVar("M", bound=BaseModel)
_FIRST = 4  # fields that are named of a record that a file is not
_TAGS = ("by name", "inline")
_LEAF: TypeAdapter[Any] = TypeAdapter(AnyQuantity)


def chip_model(data: dict[str, Any], text: YamlText, gemm_keys: Collection[str]) -> ChipModel:
    """The validated content of a chip file.

    Args:
        data: The content.
        text: The file itself, for messages.
        gemm_keys: What `calibration.gemm` may name.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    _check_kind(data, text, "chip", ChipModel)
    model, problems = _validated(ChipModel, data)
    problems += _source_problems(ChipModel, data)
    if model is not None:
        problems += chip_problems(model, gemm_keys)
    return _result(model, problems, text)


def cluster_model(data: dict[str, Any], text: YamlText, gemm_keys: Collection[str]) -> ClusterModel:
    """The validated content of a cluster file, an inline chip included; see `chip_model`.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    _check_kind(data, text, "cluster or chip", ClusterModel, ChipModel)
    model, problems = _validated(ClusterModel, data)
    chip = data.get("chip")
    problems += _source_problems(
        ClusterModel, {key: node for key, node in data.items() if key != "chip"}
    )
    if isinstance(chip, str) and chip not in record_names("chips"):
        problems.append(f"chip: unknown name {chip!r}{nearest(chip, record_names('chips'))}")
    if isinstance(chip, dict):
        problems += [f"chip.{problem}" for problem in _source_problems(ChipModel, chip)]
    if model is not None:
        problems += cluster_problems(model)
        if isinstance(model.chip, ChipModel):
            problems += [f"chip.{problem}" for problem in chip_problems(model.chip, gemm_keys)]
    return _result(model, problems, text)


def table_model(data: dict[str, Any], text: YamlText, labels: bool) -> TableModel:
    """The validated content of a calibration or reference file.

    Args:
        data: The file.
        text: Its text, for messages.
        labels: Whether strings may stand among the constants.

    Raises:
        HardwareError: One line for every mistake in it.
    """
    _check_kind(data, text, "table of constants", TableModel)
    model, problems = _validated(TableModel, data)
    if isinstance(data.get("constants"), dict):
        problems += tree_problems(data["constants"], "constants", labels)
    problems += _source_problems(TableModel, data)
    return _result(model, problems, text)


def tree_problems(node: Any, path: str, labels: bool) -> list[str]:
    """Mistakes in a tree of quantities (and labels)."""
    if isinstance(node, dict) and "value" not in node and "unit" not in node:
        found = []
        for key, child in node.items():
            found += tree_problems(child, f"{path}.{key}", labels)
        return found
    if labels and isinstance(node, str):
        return []
    try:
        _LEAF.validate_python(node)
    except ValidationError as error:
        return list(_lines(error, None, path))
    return []


def _validated(model: type[M], data: dict[str, Any]) -> tuple[M | None, list[str]]:
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        return None, list(_lines(error, model, ""))


def _result(model: M | None, problems: list[str], text: YamlText) -> M:
    if problems or model is None:
        raise HardwareError(_first([*dict.fromkeys(problems)], text))
    return model


def _first(problems: list[str], text: YamlText) -> list[str]:
    """The first mistakes with file and line, and how many more there are."""
    unknown = [line for line in problems if f": {UNKNOWN}" in line]
    unsaid = set(unknown[MOST_UNKNOWN:])
    said = [line for line in problems if line not in unsaid][:MOST_MISTAKES]
    more = len(problems) - len(said)
    rest = [f"and {more:,} more mistake{'s' * (more > 1)}"] if more > 0 else []
    return [*map(text.located, said), *rest]


def _source_problems(model: type[BaseModel], data: dict[str, Any]) -> list[str]:
    """Mistakes about sources; none where all of them are there under a misspelt name."""
    unknown = [name for name in data if name not in model.model_fields]
    if "sources" not in data and any(
        "sources" in nearest_names(name, model.model_fields) for name in unknown[:MOST_MISTAKES]
    ):
        return []
    return source_problems(data)


def _check_kind(data: dict[str, Any], text: YamlText, what: str, *models: type[BaseModel]) -> None:
    """Refuses a file that is about something else in one line.

    Raises:
        HardwareError: None of its fields belongs to any of the models.
    """
    known = [name for model in models for name in model.model_fields]
    if not set(data) & set(known):
        first = ", ".join(map(str, known[:_FIRST]))
        raise HardwareError(f"{text}: is not a {what}: it has none of its fields ({first}, ...)")


def _lines(error: ValidationError, model: type[BaseModel] | None, start: str) -> Iterable[str]:
    entries = [
        (entry, tuple(step for step in entry["loc"] if step not in _TAGS))
        for entry in error.errors(include_url=False)
    ]
    unknown = [loc for entry, loc in entries if entry["type"] == "extra_forbidden"]
    hinted = set(unknown[:MOST_UNKNOWN])  # as many as are said
    meant = {
        (*loc[:-1], name)
        for loc in hinted
        for name in nearest_names(loc[-1], _fields(model, loc[:-1]))
    }
    for entry, loc in entries:
        if entry["type"] == "missing" and loc in meant:
            continue  # it is there, misspelt
        path = start
        for step in loc:
            path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
        unsaid = entry["type"] == "extra_forbidden" and loc not in hinted
        words = UNKNOWN if unsaid else _wording(entry, loc, model)
        yield f"{path or 'file'}: {words}"


# What belongs where pydantic finds something else, by the first word of its name for the mistake.
_REQUIRED = {
    "model": "a mapping is required",
    "dict": "a mapping is required",
    "list": "a list is required",
    "tuple": "a list is required",
    "string": "a text is required",
    "bool": "true or false is required",
    "int": "a whole number is required",
    "float": "a number is required",
    "finite": "a finite number is required",
}


def _wording(entry: Any, loc: Sequence[Any], model: type[BaseModel] | None) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        allowed = _fields(model, loc[:-1])
        hint = nearest(loc[-1], allowed)
        return f"{UNKNOWN}{hint}" if hint else f"{UNKNOWN}; allowed: {', '.join(allowed)}"
    if kind == "hardware":
        return str(entry["msg"])
    if kind == "too_short":
        least = context["min_length"]
        return f"at least {least} {'entry is' if least == 1 else 'entries are'} required"
    if model and kind == "model_type" and {"value", "unit"} <= {*_fields(model, loc)}:
        return f"a mapping with value, unit and kind is required, not {short(entry['input'])}"
    what = _REQUIRED.get(kind.split("_", maxsplit=1)[0], "another value is required")
    return f"{what}, not {short(entry['input'])}"


def _fields(model: Any, loc: Sequence[Any]) -> list[str]:
    """Field names of the model that a location inside `model` leads to."""
    for step in loc:  # list positions and keys of plain mappings name no field
        field = model.model_fields.get(str(step)) if model else None
        model = _model_in(field.annotation) if field else model
    return list((model or QuantityModel).model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The first model named in a type such as `list[LevelModel]` or `Power | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(part) for part in get_args(annotation))
    return next((model for model in found if model is not None), None)
