"""What of a question the textbook's formulas do not know."""

from __future__ import annotations

from dataclasses import replace

from planner.assumptions.assumptions import Assumptions
from planner.assumptions.optimizers import ADAM
from planner.base.errors import InputError
from planner.base.messages import Origin, one_line
from planner.cost.context import CostModel
from planner.frameworks.registry import framework_of_preset
from planner.question.asked import UPKEEP
from planner.question.request import Request
from planner.question.run.upkeep import deadline_of


def check_roofline(model: CostModel, request: Request, origin: Origin) -> None:
    """Refuses changes of the textbook's simplifications that its formulas do not know.

    Raises:
        InputError: See above.
    """
    a = model.assumptions
    if not a.token_granularity:
        return
    plain = Assumptions.roofline(model.chip, model.job.precision, mfu=request.mfu or 1.0)
    if replace(a, name=plain.name) != plain:
        raise InputError(
            f"{origin.label(['assumptions'])}: {one_line(a.name)} changes roofline, whose formulas "
            "are for roofline itself; use roofline, or planner evaluate"
        )
    for name, asked in _uncounted(model, request).items():
        if asked:
            raise InputError(
                f"{origin.label([name])}: {asked}: under {plain.name} the formulas train all "
                "weights by adam, with all state on the chips; leave it out, or use the "
                "assumptions calibrated"
            )
    if given := [name for name in UPKEEP if getattr(request, name) is not None]:
        raise InputError(
            f"{origin.label(given[:1])}: has no effect under {plain.name}, where nothing fails; "
            "leave it out, or use the assumptions calibrated"
        )
    if deadline_of(request)[1] is not None:
        raise InputError(
            f"{origin.label(['deadline'])}: has no chance under {plain.name}, whose times are "
            "bounds and where nothing fails; leave it out, or use the assumptions calibrated"
        )
    own = framework_of_preset(plain.name)
    if own is not None and model.framework != own.profiles[0]:
        raise InputError(
            f"{origin.label(['framework'])}: {model.framework.name}: under {plain.name} memory is "
            f"that of the framework {own.name}; leave it out, or use the assumptions calibrated"
        )


def _uncounted(model: CostModel, request: Request) -> dict[str, str]:
    """Fields that the textbook's formulas leave out, with what is asked; empty: nothing is."""
    job = model.job
    return {
        "job": "" if job.trains_all else job.kind,
        "optimizer": "" if job.optimizer == ADAM else job.optimizer,
        "offload": "true" if request.offload else "",
    }
