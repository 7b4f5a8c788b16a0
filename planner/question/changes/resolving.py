"""Records and assumptions of a question as its changes make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from hardware_db import Chip, Cluster, load_calibration
from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.experts import ExpertSoftware
from planner.base.errors import InputError
from planner.base.messages import Attempts
from planner.cost.context import CostModel
from planner.machine.scaling import grows, with_pes
from planner.machine.variants import variant_of
from planner.question.changes.changed import NONE, Changes
from planner.question.changes.leaves import CHIP, CLUSTER
from planner.question.records import assumptions_named, cluster_named, model_named, preset_of
from planner.question.request import Request

if TYPE_CHECKING:
    from planner.assumptions.local_file import LocalCalibration

_POWER = "power."
_Made = TypeVar("_Made")
_Record = TypeVar("_Record", Chip, Cluster)


def changed_records(
    tried: Attempts, request: Request, model: Model, cluster: Cluster
) -> tuple[Changes, Model, Cluster]:
    """What the question changes, and the records that this makes of those that it names.

    Raises:
        InputError: A change cannot be made.
    """
    if not request.set:
        return NONE, model, cluster
    from planner.question.changes.changes import changes_of  # noqa: PLC0415  (start-up; few ask)

    scaled = scales(request, cluster)
    changes = tried.attempt(changes_of, request.set, request.model, request.hardware, scaled)
    if changes is None:
        raise tried.error()
    if changes.model:
        made = partial(_made, model_named, changes)
        found = tried.needed(tried.attempt(made, request.model, changes.model))
        model = replace(found, name=changes.name_of("model"))
    if changes.hardware:
        make = partial(_made, cluster_named, changes)
        cluster = tried.needed(tried.attempt(make, request.hardware, changes.hardware))
    return changes, model, cluster


def _made(
    make: Callable[..., _Made], changes: Changes, name: str, differs: Mapping[str, Any]
) -> _Made:
    """A record with changes.

    Raises:
        InputError: It cannot be, with the changes as they were typed.
    """
    try:
        return make(name, differs)
    except InputError as error:
        raise InputError(changes.as_typed(str(error))) from error


def scales(request: Request, cluster: Cluster) -> Callable[[str], bool]:
    """Whether the field at a full path grows with the PEs that the question gives chips."""
    other = any(count != cluster.chip.pe_count for count in request.pes or ())
    return lambda path: other and grows(path, request.scale)


def assumptions_of(
    request: Request,
    chip: Chip,
    era: str,
    precision: str,
    local: LocalCalibration | None,
    experts: ExpertSoftware | None,
    recipe: str,
    changes: Changes,
) -> Assumptions:
    """The assumptions of a question with its changes.

    Raises:
        InputError: They cannot be had.
    """
    if local is not None:
        local = replace(local, calibration=changes.calibration(local.calibration))
    constants = changes.calibration(load_calibration())
    name, mfu = request.assumptions, request.mfu or 1.0
    base = assumptions_named(name, chip, era, precision, mfu, local, constants, experts, recipe)
    if changes.of(CHIP) or changes.of(CLUSTER):  # runs of one's own were on another machine
        base = replace(base, local_runs=0)
    return changes.assumptions(base)


def with_powers(
    request: Request, cost: CostModel, changes: Changes, local: LocalCalibration | None
) -> CostModel:
    """The cost model with what a changed chip draws, which follows from the measured one.

    Powers that are given, or that a local calibration has of this chip, stay. So do all of a chip
    of which a file says little, and of one whose measured base cannot run the job.

    Args:
        request: The question.
        cost: On the changed chip, with the powers of its base.
        changes: Of the question.
        local: The local calibration.

    Raises:
        InputError: A rated power is given that is too low.
    """
    if not cost.chip.changed and not cost.cluster.changed:
        return cost
    from planner.cost.energy.silicon import follow  # noqa: PLC0415  (start-up; few ask)

    line = _line_of(cost.chip)
    if any(chip.derived for chip in line) or preset_of(request.assumptions) != "calibrated":
        return cost
    root = _measured(request, cost.cluster)
    if not cost.chip.changed and _rates(root) == _rates(cost.cluster):
        return cost
    given = given_powers(cost.chip) | given_powers(cost.cluster)
    if local is not None:
        given |= {*local.powers(cost.chip)}
    job = cost.job
    try:
        own = assumptions_of(
            request,
            root.chip,
            job.era,
            job.precision,
            None,
            job.expert_software,
            job.recipe,
            changes,
        )
    except InputError:  # a format that the base does not have
        return cost
    return follow(replace(cost, cluster=root, assumptions=own), cost, given).model


def _measured(request: Request, cluster: Cluster) -> Cluster:
    """The record that a changed machine comes from, with the wiring and the PEs of the question."""
    chip = _line_of(cluster.chip)[-1]
    if cluster.changed:
        first = replace(_line_of(cluster)[-1], chip=chip)
        return variant_of(first, request.pes, request.topology, request.scale)
    if request.pes is not None:
        alone = replace(cluster, chip=chip, levels=())
        chip = with_pes(alone, next(iter(request.pes)), request.scale).chip
    return replace(cluster, chip=chip)


def _rates(cluster: Cluster) -> dict[str, float]:
    """Bytes per second of each level."""
    return {level.name: level.bandwidth_bytes_per_s for level in cluster.levels}


def given_powers(record: _Record) -> set[str]:
    """Fields of a chip, or paths of levels, whose powers a question or a file gives."""
    paths = [path for one in _line_of(record) for path in one.changed]
    powers = {f"{path.removeprefix(_POWER)}_w" for path in paths if path.startswith(_POWER)}
    return powers | {path for path in paths if path.endswith(".switch_power")}


def _line_of(record: _Record) -> list[_Record]:
    """A record, the one that it is like, and so on to the first."""
    line = [record]
    while (base := line[-1].base) is not None:
        line.append(base)
    return line
