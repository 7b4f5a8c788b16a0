"""The machines of a joint search, with the chip counts that its budgets allow."""

from __future__ import annotations

from frozen_records import dataclass
from hardware_db import Cluster
from planner.base.errors import InputError
from planner.base.units import show_percent
from planner.cost.context import CostModel
from planner.machine.scaling import RETICLE_M2
from planner.machine.variants import BUDGETS, Budgets, counts_within, use_of
from planner.machine.wiring import SCALE_OUT, SCALE_UP, wiring_of
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.parts import Machine

_AT_LEAST = 1024  # chips up to which a first count is looked for


def on_machine(request: Request, machine: Machine | None) -> Request:
    """The question about one of its machines alone."""
    if machine is None:
        return request
    changes = {name: tuple(words) for name, words in machine.fields.items()}
    return request.model_copy(update=changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One machine.

    Attributes:
        resolved: The job on it; of one chip where the question leaves their number open.
        counts: Chip counts that the budgets allow, ascending.
        limited_by: The budget that ends them; empty where the cluster does.
    """

    resolved: Resolved
    counts: tuple[int, ...]
    limited_by: str

    @property
    def model(self) -> CostModel:
        """The cost model of the job on the machine."""
        return self.resolved.cost

    def machine(self, chips: int) -> Machine:
        """What the machine is with so many chips."""
        request, chip = self.resolved.request, self.model.chip
        use = use_of(self.model, chips)
        area = chip.die_area_m2
        return Machine(
            pes=chip.pe_count,
            pe_kind=chip.pe_kind,
            scale_up=_wired(self.model, request, SCALE_UP),
            scale_out=_wired(self.model, request, SCALE_OUT),
            total_pes=chips * chip.pe_count,
            die_area_m2=None if area is None else chips * area,
            links=int(use["max_links"]),
            ports_per_chip=int(use["max_ports"]),
            fields=request.machine,
        )


def _wired(model: CostModel, request: Request, kind: str) -> str:
    """The wiring of a kind of level: as asked for, else the word of the record."""
    for word in request.topology:
        wiring = wiring_of(word)
        if wiring.level == kind:
            return wiring.word.removeprefix(f"{SCALE_OUT}=")
    levels = [level.topology for level in model.cluster.levels if level.kind == kind]
    return levels[0] if levels else ""


def budgets_of(request: Request) -> Budgets:
    """The budgets of a request; of a range of chips its upper end."""
    given = {name: getattr(request, name) for name in BUDGETS}
    return Budgets(
        **{**given, "chips": None if request.chip_range is None else request.chip_range[1]},
        power_boundary=request.power_boundary,
    )


def candidate_of(request: Request, resolved: Resolved) -> Candidate:
    """A machine with its chip counts, and what ends them."""
    if resolved.cost.assumptions.token_granularity and request.chip_range is None:
        raise InputError(
            f"chips: is missing; under {request.assumptions} the chips share a step's tokens"
        )
    budgets = budgets_of(request)
    counts = counts_within(resolved.cost, budgets)
    cluster = resolved.cost.cluster
    further = _next(cluster, counts)
    limited = ""
    if further is not None:
        use = use_of(resolved.cost, further, budgets.power_boundary)
        over = [name for name, limit in budgets.given.items() if use[name] > limit]
        limited = over[0].replace("_", "-") if over else ""
    return Candidate(resolved=resolved, counts=counts, limited_by=limited)


def _next(cluster: Cluster, counts: tuple[int, ...]) -> int | None:
    """The first chip count beyond some."""
    last = counts[-1] if counts else 0
    possible = cluster.chip_counts(max(2 * last, _AT_LEAST))
    return next((count for count in possible if count > last), None)


def reticle_words(model: CostModel, request: Request) -> list[str]:
    """What a chip with PEs that were asked for asks of its makers."""
    area = model.chip.die_area_m2
    if request.pes is None or area is None or area <= RETICLE_M2:
        return []
    return [
        f"a die of {area * 1e6:,.0f} mm^2 is above the {RETICLE_M2 * 1e6:,.0f} mm^2 that "
        "one exposure prints: it would be made of several"
    ]


def use_words(model: CostModel, budgets: Budgets, chips: int) -> list[str]:
    """How much of each budget a machine takes with so many chips, in words."""
    use, lines = use_of(model, chips), []
    for name, limit in budgets.given.items():
        if name in ("chips", "max_power"):
            continue
        label = name.replace("_", "-")
        share = show_percent(use[name] / limit)
        lines.append(f"{label}: {use[name]:,.6g} of {limit:,.6g} ({share})")
    return lines
