"""Reads the changes of a question: which fields they are of, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    f"{CHIP}.pe.count": "pes has the processing elements, with peak rates, memories and power that "
    "grow with them",
    f"{CHIP}.default_cluster": "hardware names another cluster",
    f"{ASSUMPTIONS}.collectives": "it is a field of the question",
    f"{ASSUMPTIONS}.local_runs": "it counts runs of yours; planner calibrate knows them",
}
"""Fields that are changed in another way, by full path, with how."""
LABELS = (*OF_RECORDS, "memory.type", "memory.label", "family", "pe.kind", "scale_up.generation",
           "host.link")  # fmt: skip
"""Fields from which nothing is computed."""


def changes_of(texts: tuple[str, ...], model: str, hardware: str) -> Changes:
    """The changes of a question.

    Args:
        texts: As `planner.question.changes.texts.read_changes` leaves them.
        model, hardware: Names or paths of what they are of; empty: that has none here.

    Raises:
        InputError: A path is unknown or a value is none, one line per mistake; or a record cannot
            be loaded.
    """
    leaves, names = fields_of(model, hardware)
    found, problems = [], []
    for change in changes_in(texts):
        try:
            leaf = leaf_of(change.path, leaves)
            found.append(Changed(leaf=leaf, change=change, value=_value(leaf, change)))
        except InputError as error:
            problems += [f"set: {line}" for line in str(error).split("\n")]
    if problems:
        raise InputError("\n".join(problems))
    return Changes(fields=tuple(_counting(found)), names=names)


def _value(leaf: Leaf, change: Change) -> Any:
    """The new value, once that of the record; None: it follows from the question first."""
    if leaf.record == ASSUMPTIONS:
        return None
    return leaf.value if change.factor == 1 else value_of(leaf, change, leaf.value)


def _counting(found: list[Changed]) -> Iterator[Changed]:
    """Those that differ, and powers of a changed chip that are to stay as they are recorded."""
    moved = any(one.leaf.record == CHIP and not one.stays for one in found)
    for one in found:
        power = one.leaf.full_path.startswith(f"{CHIP}.power.")
        once = one.leaf.record == ASSUMPTIONS and one.change.factor == 1
        if not once and (not one.stays or (moved and power)):
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
    if len(found) > 1:
        both = " or ".join(leaf.full_path for leaf in found)
        raise InputError(f"{path}: is a field of several records; give {both}")
    if not found:
        paths = [*known, *(leaf.path for leaf in known.values()), *ALIASES]
        raise InputError(f"{path}: unknown field{did_you_mean(path, paths) or _HOW}")
    leaf = found[0]
    if instead := _INSTEAD.get(leaf.full_path):
        raise InputError(f"{path}: {instead}")
    if leaf.path in LABELS:
        raise InputError(f"{path}: is a label, from which nothing is computed")
    return leaf


_HOW = "; planner hardware show and planner models show print those of the records"
