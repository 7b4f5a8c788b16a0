"""A cost model made again with another chip, level or constant, everything derived following."""

from __future__ import annotations

from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frozen_records import dataclass
from hardware_db import Calibration, Chip, Level, load_calibration
from planner.assumptions.assumptions import ORIGIN, Assumptions
from planner.assumptions.overrides import with_constants
from planner.base.files import names_a_file, read_yaml
from planner.cost.context import CostModel
from planner.question.changes.leaves import ASSUMPTIONS
from planner.question.records import assumptions_named, local_named, preset_of
from planner.question.resolved import Resolved

if TYPE_CHECKING:
    from planner.assumptions.local_file import LocalCalibration

_CALIBRATED = "calibrated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilding:
    """How the model of a question follows from its numbers; `rebuilding` makes it.

    Attributes:
        model: The cost model as it is.
        preset: That its assumptions start from.
        mfu: Share of the peak under `roofline`.
        given: Fields of the assumptions that the user's file sets.
        local: The user's own calibration, if there is one.
        constants: Fitted constants in use; None where the preset has none.
    """

    model: CostModel
    preset: str
    mfu: float
    given: frozenset[str] = field(default_factory=frozenset)
    local: LocalCalibration | None = None
    constants: Calibration | None = None

    def assumptions(
        self, chip: Chip | None = None, constants: Calibration | None = None
    ) -> Assumptions:
        """The assumptions that another chip or other constants give; the user's values stay."""
        chip, job = chip or self.model.chip, self.model.job
        local = self.local
        if local is not None and constants is not None:
            local = replace(local, calibration=constants)
        base = assumptions_named(
            self.preset,
            chip,
            job.era,
            job.precision,
            self.mfu,
            local,
            constants or self.constants,
            job.expert_software,
        )
        now = self.model.assumptions
        kept: Any = {name: getattr(now, name) for name in (*self.given, *ORIGIN, "collectives")}
        return replace(base, **kept)

    def on_chip(self, chip: Chip) -> CostModel:
        """The model on machines with another chip."""
        cluster = replace(self.model.cluster, chip=chip)
        return replace(self.model, cluster=cluster, assumptions=self.assumptions(chip))

    def on_level(self, index: int, level: Level) -> CostModel:
        """The model on machines with another level of the network."""
        levels = list(self.model.cluster.levels)
        levels[index] = level
        return replace(self.model, cluster=replace(self.model.cluster, levels=tuple(levels)))

    def with_constants(self, constants: Calibration) -> CostModel:
        """The model with other fitted constants."""
        return replace(self.model, assumptions=self.assumptions(constants=constants))


def rebuilding(resolved: Resolved) -> Rebuilding:
    """How the model of a resolved question follows from its numbers."""
    request = resolved.request
    preset = preset_of(request.assumptions)
    local = local_named(request.calibration)
    constants = None
    if preset == _CALIBRATED:
        used = local is not None and local.holds_for(resolved.cost.chip)
        constants = local.calibration if used and local is not None else load_calibration()
        constants = resolved.changes.calibration(constants)
    given: frozenset[str] = frozenset()
    if names_a_file(request.assumptions):
        changes = read_yaml(Path(request.assumptions))
        if constants is not None:
            constants, changes = with_constants(constants, changes)
        given = frozenset(changes) - {"preset"}
    given |= {one.leaf.path for one in resolved.changes.of(ASSUMPTIONS)}
    made = Rebuilding(
        model=resolved.cost,
        preset=preset,
        mfu=request.mfu or 1.0,
        given=given,
        local=local,
        constants=constants,
    )
    if not resolved.cost.chip.changed:
        return made
    plain, now = made.assumptions(), resolved.cost.assumptions  # a limit of power may slow rates
    slowed = {one.name for one in fields(now) if getattr(plain, one.name) != getattr(now, one.name)}
    return replace(made, given=given | slowed)
