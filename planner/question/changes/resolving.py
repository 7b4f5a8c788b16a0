"""Records and assumptions of a question as its changes make them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hardware_db import Chip, Cluster, load_calibration
from models_db import Model
from planner.assumptions.assumptions import Assumptions
from planner.assumptions.experts import ExpertSoftware
from planner.base.errors import InputError
from planner.base.messages import Attempts
from planner.cost.context import CostModel
from planner.machine.scaling import grows, with_pes
from planner.question.changes.changed import NONE, Changes
from planner.question.changes.leaves import CHIP, CLUSTER
from planner.question.records import assumptions_named, cluster_named, model_named, preset_of
from planner.question.request import Request

if TYPE_CHECKING:
    from planner.assumptions.local_file import LocalCalibration

_POWER = "power."


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

    other = any(count != cluster.chip.pe_count for count in request.pes or ())
    changes = tried.attempt(
        changes_of,
        request.set,
        request.model,
        request.hardware,
        lambda path: other and grows(path, request.scale),
    )
    if changes is None:
        raise tried.error()
    if changes.model:
        found = tried.needed(tried.attempt(model_named, request.model, changes.model))
        model = replace(found, name=changes.name_of("model"))
    if changes.hardware:
        cluster = tried.needed(tried.attempt(cluster_named, request.hardware, changes.hardware))
    return changes, model, cluster


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
    if not cost.chip.changed:
        return cost
    from planner.cost.energy.silicon import follow  # noqa: PLC0415  (start-up; few ask)

    line = _line_of(cost.chip)
    root = line[-1]
    if any(chip.derived for chip in line) or preset_of(request.assumptions) != "calibrated":
        return cost
    if request.pes is not None:
        alone = replace(cost.cluster, chip=root, levels=())
        root = with_pes(alone, next(iter(request.pes)), request.scale).chip
    given = given_powers(cost.chip)
    if local is not None:
        given |= {*local.powers(cost.chip)}
    job = cost.job
    try:
        own = assumptions_of(
            request, root, job.era, job.precision, None, job.expert_software, job.recipe, changes
        )
    except InputError:  # a format that the base does not have
        return cost
    base = replace(cost, cluster=replace(cost.cluster, chip=root), assumptions=own)
    return follow(base, cost, given).model


def given_powers(chip: Chip) -> set[str]:
    """Fields of a chip whose powers its question, or a file that it comes from, gives."""
    paths = (path for one in _line_of(chip) for path in one.changed)
    return {f"{path.removeprefix(_POWER)}_w" for path in paths if path.startswith(_POWER)}


def _line_of(chip: Chip) -> list[Chip]:
    """A chip, the one that it is like, and so on to the record."""
    line = [chip]
    while line[-1].base is not None:
        line.append(line[-1].base)
    return line
