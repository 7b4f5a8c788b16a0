"""Reads the changes of a question: which fields they are of, and their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from hardware_db import load_calibration
from hardware_db.likeness import LABELS as OF_RECORDS
from hardware_db.loading import cluster_parts
from hardware_db.schema_chip import ChipModel
from hardware_db.schema_cluster import ClusterModel
from models_db.loading import model_data
from models_db.schema import ModelRecord
from planner.base.errors import InputError
from planner.base.messages import did_you_mean
from planner.question.asked import BY_NAME
from planner.question.changes.changed import Changed, Changes
from planner.question.changes.leaves import (
    ASSUMPTIONS,
    CHIP,
    CLUSTER,
    MODEL,
    Leaf,
    leaves_of,
    leaves_of_assumptions,
    leaves_of_calibration,
)
from planner.question.changes.texts import Change, changes_in
from planner.question.changes.values import value_of

ALIASES = {
    "l2": "on_chip.l2",
    "sram": "on_chip.sram",
    "pe.sram": "on_chip.sram_per_pe",
    "pe.registers": "on_chip.registers_per_pe",
}
"""Short paths, where that of the record is unwieldy."""
_INSTEAD = {
    f"{CHIP}.pe.count": "--pes of planner solve changes the processing elements, with peak rates, "
    "memories and power",
    f"{CHIP}.default_cluster": "--hardware names another cluster",
    f"{ASSUMPTIONS}.collectives": "it is a field of the question",
    f"{ASSUMPTIONS}.local_runs": "it counts runs of yours; planner calibrate knows them",
}
"""Fields that are changed in another way, by full path, with how."""
LABELS = (*OF_RECORDS, "memory.label", "family", "pe.kind", "host.link")
"""Fields from which nothing is computed."""


def changes_of(
    texts: tuple[str, ...],
    model: str,
    hardware: str,
    scaled: Callable[[str], bool] = lambda _: False,
) -> Changes:
    """The changes of a question.

    Args:
        texts: As `planner.question.changes.texts.read_changes` leaves them.
        model, hardware: Names or paths of what they are of; empty: that has none here.
        scaled: Whether the field at a full path grows with the chip's processing elements, of
            which the question gives another number.

    Raises:
        InputError: A path is unknown or a value is none, one line per mistake; or a record cannot
            be loaded.
    """
    found, names = _read(texts, model, hardware)
    return Changes(fields=tuple(_counting(found, scaled)), names=names)


def idle_changes(
    texts: tuple[str, ...], model: str, hardware: str, scaled: Callable[[str], bool]
) -> list[Changed]:
    """The changes that leave their field as it is; arguments and errors as of `changes_of`."""
    found, _ = _read(texts, model, hardware)
    counted = list(_counting(found, scaled))
    return [one for one in found if one not in counted]


def _read(
    texts: tuple[str, ...], model: str, hardware: str
) -> tuple[list[Changed], dict[str, str]]:
    """The changes, and names of the records that they are of; as of `changes_of`."""
    leaves, names = fields_of(model, hardware)
    found, problems, paths = [], [], dict[str, str]()
    for change in changes_in(texts):
        try:
            leaf = leaf_of(change.path, leaves)
            first = paths.setdefault(leaf.full_path, change.path)
            if first != change.path:
                raise InputError(f"{change.path}: is the same field as {first}; give one of them")
            found.append(Changed(leaf=leaf, change=change, value=_value(leaf, change)))
        except InputError as error:
            problems += [f"set: {line}" for line in str(error).split("\n")]
    if problems:
        raise InputError("\n".join(problems))
    return found, names


def _value(leaf: Leaf, change: Change) -> Any:
    """The new value, once that of the record; None: it follows from the question first."""
    if leaf.record == ASSUMPTIONS:
        return None
    return leaf.value if change.factor == 1 else value_of(leaf, change, leaf.value)


def _counting(found: list[Changed], scaled: Callable[[str], bool]) -> Iterator[Changed]:
    """Those that differ, and what of a changed or scaled chip is to stay as it is recorded."""
    moved = any(one.leaf.record in (CHIP, CLUSTER) and not one.stays for one in found)
    for one in found:
        path, factor = one.leaf.full_path, one.change.factor
        power = path.startswith(f"{CHIP}.power.") or path.endswith(".switch_power")
        kept = (moved and power) or (scaled(path) and (power or factor is None))
        once = one.leaf.record == ASSUMPTIONS and factor == 1
        if not once and (not one.stays or kept):
            yield one


def fields_of(model: str, hardware: str) -> tuple[list[Leaf], dict[str, str]]:
    """What may be changed, and the names of the records; arguments as of `changes_of`.

    Raises:
        HardwareError, ModelError: A record cannot be loaded.
    """
    leaves, names = [*leaves_of_assumptions(), *leaves_of_calibration(load_calibration())], {}
    schemas: list[tuple[str, type[BaseModel], dict[str, Any]]] = []
    if hardware:
        parts = cluster_parts(hardware)
        schemas += [(CHIP, ChipModel, parts.chip.data), (CLUSTER, ClusterModel, parts.cluster.data)]
    if model:
        schemas.append((MODEL, ModelRecord, model_data(model)[0]))
    for record, schema, data in schemas:
        leaves += leaves_of(record, schema, data)
        names[record] = str(data.get("name"))
    return leaves, names


def leaf_of(path: str, leaves: Iterable[Leaf]) -> Leaf:
    """The field at a path: full, in its record where that is the only one, or an alias.

    Raises:
        InputError: There is none, there are several, or it is changed in another way.
    """
    meant = ALIASES.get(path, path)
    known = {leaf.full_path: leaf for leaf in leaves}
    found = [known[meant]] if meant in known else [
        leaf for leaf in known.values() if leaf.path == meant
    ]  # fmt: skip
    if any(leaf.path in LABELS for leaf in found):
        raise InputError(f"{path}: is a label, from which nothing is computed")
    if len(found) > 1:
        both = " or ".join(leaf.full_path for leaf in found)
        raise InputError(f"{path}: is a field of several records; give {both}")
    if not found:
        raise InputError(f"{path}: {_unknown(meant, known.values())}")
    leaf = found[0]
    if instead := _INSTEAD.get(leaf.full_path):
        raise InputError(f"{path}: {instead}")
    return leaf


def _unknown(path: str, leaves: Collection[Leaf]) -> str:
    """What is said of a path that no field has: where it leads to, or the nearest."""
    field = BY_NAME.get(path.replace("-", "_"))
    if field is not None:
        return f"is a field of the question, not of a record; planner solve takes {field.flag}"
    inside = [leaf.path for leaf in leaves
              if f".{path}." in f".{leaf.full_path}" and leaf.form == "number"]  # fmt: skip
    if inside:
        return f"is a group of fields; give one, e.g. {' or '.join(inside[:_FIRST])}"
    last = path.split(".", 1)[-1]
    moved = [leaf.full_path for leaf in leaves if leaf.path in (last, ALIASES.get(last))]
    paths = [*(leaf.full_path for leaf in leaves), *(leaf.path for leaf in leaves), *ALIASES]
    shorter = path.rpartition(".")[0]
    near = moved or [shorter] * (shorter in paths)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else did_you_mean(path, paths)
    return f"unknown field{hint or _HOW}"


_FIRST = 3
_HOW = "; planner hardware show and planner models show print those of the records"
