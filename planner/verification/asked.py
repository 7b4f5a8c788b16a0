"""What a certificate was asked: the job on its machine, the limits, the freedoms of a plan."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.messages import one_line
from planner.base.vocabulary import LAYOUTS, MESH_AXES, PER_OPERATION
from planner.cost.breakdown import peak_flop_per_s
from planner.cost.communication.traffic import model_flop_per_token
from planner.cost.context import CostModel
from planner.cost.energy.meter import meter_of
from planner.cost.memory.memory import Memory
from planner.cost.memory.risk import bytes_at_risk, memory_spread
from planner.frameworks.rules import Demand, demands_of
from planner.frameworks.targets import Target
from planner.plan import ORDERS, PlanTable
from planner.plan.choices import fixed_values
from planner.question.kinds.contradictions import check_question
from planner.question.kinds.kind import OF_MACHINES
from planner.question.records import special_files
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.verification.document import Certificate
from planner.verification.faults import Fault


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, ready to be checked.

    Attributes:
        request: As asked.
        model: The job on its machine.
        chips: Numbers of chips that the certificate is about.
        clocks: (k,) relative clocks.
        more_chips: Greater numbers, on which it has to have no plan.
        targets: What has to run the plans.
        orders: Orders of the axes, innermost first.
    """

    request: Request
    model: CostModel
    chips: tuple[int, ...]
    more_chips: tuple[int, ...]
    clocks: FloatArray
    targets: tuple[Target, ...]
    orders: tuple[tuple[str, ...], ...]

    @cached_property
    def demands(self) -> tuple[Demand, ...]:
        """Rules that targets add to those of the framework."""
        return demands_of(self.model, self.targets)

    def on(self, chips: int) -> Asked:
        """The question about one number of chips; where these share tokens, with their shares."""
        return replace(self, chips=(chips,), model=self.model.on(chips))

    def allows(self, name: str, value: int) -> bool:
        """Whether a field of a plan may have a value (a code), as far as the user narrowed it."""
        request = self.request
        axes = MESH_AXES if request.axes is None else request.axes
        if name in MESH_AXES and name not in axes and value != 1:
            return False
        given = request.fix.get(name)
        return given is None or value in _fixed(name, given)

    def most_bytes(self, plans: PlanTable) -> FloatArray:
        """(n,) bytes that a chip may hold."""
        model, request = self.model, self.request
        framework = model.framework
        most = request.max_memory
        if request.memory_margin is not None:
            filled = request.memory_margin * model.allocatable_bytes
            most = filled if most is None else min(filled, most)
        elif most is None:
            share = framework.usable_share * model.allocatable_bytes
            most = min(share, framework.headroom_share * model.chip.memory_bytes)
        limit = np.full(len(plans), most)
        if request.oom_risk is not None:
            spread = memory_spread(framework, model.job.era, plans)
            risky = bytes_at_risk(request.oom_risk, spread, model.allocatable_bytes)
            limit = np.minimum(limit, risky)
        return limit

    def fits(self, plans: PlanTable, held: Memory) -> tuple[BoolArray, BoolArray]:
        """(n,) plans that fit on the chip, and on the host."""
        on_chip = held.peak <= self.most_bytes(plans)
        return on_chip, held.host_peak <= self.model.chip.host_memory_bytes

    def within(self, time_s: FloatArray, energy_j: FloatArray, chips: IntArray) -> BoolArray:
        """(n,) steps that are within the limits on time, power and utilization."""
        request, model = self.request, self.model
        ok = np.ones(len(time_s), dtype=np.bool_)
        if request.max_step_time is not None:
            ok &= time_s <= request.max_step_time
        if request.max_power is not None:
            meters = {n: meter_of(model, request.power_boundary, n) for n in self.chips}
            most = np.array([meters[int(n)].it_w(request.max_power) for n in chips])
            ok &= energy_j <= most * time_s
        if request.min_mfu is not None:
            flop = model.job.batch_tokens * model_flop_per_token(model.job, model.shapes)
            ok &= flop >= request.min_mfu * peak_flop_per_s(model) * chips * time_s
        return ok


def request_in(question: dict[str, Any]) -> Request:
    """What a certificate says was asked.

    Raises:
        Fault: It names what may not end when it is read, as a pipe.
        InputError: It cannot be asked.
    """
    if special := special_files(question):
        raise Fault(f"question: {one_line(special[0])} is no regular file")
    request = request_from(question)
    check_question(request, ARGUMENTS)
    return request


def asked_in(certificate: Certificate) -> Asked:
    """The question of a certificate.

    Raises:
        Fault: It is not the one that the rest of the certificate is about.
        InputError: It cannot be asked.
    """
    request = request_in(certificate.question)
    if why := not_covered(request):
        raise Fault(f"question: {why}")
    resolved, claimed = resolve(request), certificate.space
    for name, digest in fingerprints(resolved).items():
        if certificate.records.get(name) != digest:
            raise Fault(f"records: the {name} here is not that of the certificate (its SHA-256)")
    if sorted(certificate.records) != sorted(fingerprints(resolved)):
        raise Fault("records: not just those of the question are named")
    chips, counts = _chips(resolved, claimed.chips), resolved.cost.cluster.chip_counts
    fewer = chips != resolved.counts
    more = tuple(n for n in counts(resolved.chips) if n > chips[0]) if fewer else ()
    targets = _targets(resolved, claimed.runnable_in)
    asked = replace(asked_of_one(resolved, targets), chips=chips, more_chips=more)
    if claimed.clocks != asked.clocks.tolist():
        raise Fault(f"space: clocks are {asked.clocks.tolist()}, not {claimed.clocks}")
    return asked.on(chips[0]) if fewer else asked


def asked_of_one(resolved: Resolved, targets: tuple[Target, ...] = ()) -> Asked:
    """A question about all chips of one machine, of plans that some targets run."""
    model = resolved.cost
    return Asked(
        request=resolved.request,
        model=model,
        chips=(resolved.chips,),
        more_chips=(),
        clocks=model.clocks(wanted=bool(resolved.request.clocks)),
        targets=targets,
        orders=_orders(resolved.request, model),
    )


def _orders(request: Request, model: CostModel) -> tuple[tuple[str, ...], ...]:
    """Orders of the axes that are wanted."""
    return ORDERS if request.placement == "all" else model.framework.orders or ORDERS


def _chips(resolved: Resolved, claimed: list[int]) -> tuple[int, ...]:
    """The numbers of chips: those asked for, or fewer where that was left open."""
    request, chips = resolved.request, tuple(claimed)
    if chips == resolved.counts:
        return chips
    fewer = len(chips) == 1 and len(resolved.counts) == 1 and not request.chips_exact
    known = fewer and chips[0] in resolved.cost.cluster.chip_counts(resolved.chips)
    if not known or chips[0] >= resolved.chips:
        raise Fault(f"space: chips are {list(resolved.counts)}, not {claimed}")
    return chips


def _targets(resolved: Resolved, claimed: list[str]) -> tuple[Target, ...]:
    """What has to run the plans that the question means."""
    named = [target.name for target in resolved.runners.targets]
    if claimed != named:
        raise Fault(f"space: plans are to run in {named}, not {claimed}")
    return resolved.runners.targets


def fingerprints(resolved: Resolved) -> dict[str, str]:
    """SHA-256 of what the figures rest on, by what it is; not how a file of it was named."""
    model = resolved.cost
    parts = {
        "job": model.job,
        "cluster": model.cluster,
        "assumptions": replace(model.assumptions, name=""),
        "facility": model.facility,
    }
    return {name: _digest(repr(part)) for name, part in parts.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def not_covered(request: Request) -> str:
    """Why no certificate of a question is written or read; empty where one is."""
    objective = request.minimized
    grows = objective.monotone and not (objective.of_memory or objective.of_run)
    run = (request.deadline, request.budget, request.max_run_energy)
    later = (request.resume_from, request.down, request.phases or None)
    found = {
        "uniform plans, not pools (of these write a .zip)": request.pools is not None,
        "uniform plans, not stages that differ (write a .zip)": request.layout != LAYOUTS[0],
        "one machine, not a choice among several": any(
            getattr(request, name) not in (None, ()) for name in OF_MACHINES
        ),
        "orders of the axes, not layouts over a torus (--placement all)": request.placement
        == "torus",
        "fronts of time and energy (--front time,energy)": [one.name for one in request.compared]
        != ["time", "energy"],
        "plans of one clock, not those per operation": request.clocks == PER_OPERATION,
        f"objectives that grow with time and energy, not {objective.name}": not grows
        or objective.over_chips,
        "limits on a step, not on the whole run": any(limit is not None for limit in run),
        "one step, not the phases of a run or what goes on from one": any(
            given is not None for given in later
        ),
    }
    return next((f"certificates cover {what}" for what, holds in found.items() if holds), "")


@cache
def _fixed(name: str, given: tuple[str, ...]) -> frozenset[int]:
    return fixed_values(name, given)
