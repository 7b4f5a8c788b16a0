"""Every plan of a joint rack question, evaluated one and all; shares nothing with the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.network.topology.forms import link_count, ports_per_chip, sizes_of
from planner.studies.rack.model.evaluate import RackCost, evaluate
from planner.studies.rack.model.plans import RackPlans, rack_plans
from planner.studies.rack.solve.question import RackQuestion

FIELDS = ("dp", "tp", "pp", "zero", "pes", "topology")


@dataclass(frozen=True, kw_only=True)
class Everything:
    """All plans that keep the budgets, and what they cost."""

    plans: RackPlans
    cost: RackCost
    allowed: np.ndarray[Any, np.dtype[np.bool_]]
    uses: dict[str, np.ndarray[Any, np.dtype[np.float64]]]

    @property
    def points(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(n, 2) latency and energy of the plans that keep the budgets."""
        both = np.stack([self.cost.latency_s, self.cost.total_j], axis=1)
        return both[self.allowed]

    def within(self, budgets: Mapping[str, float]) -> Everything:
        """The same plans with budgets."""
        allowed = np.ones(len(self.plans), dtype=np.bool_)
        for name, most in budgets.items():
            allowed &= self.uses[name] <= most * (1 + 1e-12)
        return replace(self, allowed=allowed)


def everything(question: RackQuestion) -> Everything | None:
    """Every plan, or None where there is none even without budgets."""
    rows, wires = [], []
    workload = question.workload
    assert workload.batch is not None
    most_tp = min(
        e.copies if e.copies > 1 or not e.has_weights else e.outputs for e in workload.einsums
    )
    for chips in question.chips:
        for dp, tp, pp in product(range(1, chips + 1), repeat=3):
            if dp * tp * pp != chips or dp > workload.batch or tp > most_tp:
                continue
            if pp > len(workload.einsums):
                continue
            if (tp > 1 and "tp" not in question.strategies) or (
                pp > 1 and "pp" not in question.strategies
            ):
                continue
            shardings = [0] if dp == 1 else [z for z, name in enumerate(("dp", "zero"))
                                             if name in question.strategies]  # fmt: skip
            for zero, (kind, name) in product(shardings, enumerate(question.machine.topologies)):
                wire = wiring(name, chips)
                if wire is None:
                    continue
                for pes in question.pes:
                    rows.append((dp, tp, pp, zero, pes, kind))
                    wires.append(wire)
    if not rows:
        return None
    columns = dict(zip(FIELDS, np.array(rows).T, strict=True))
    items = np.ceil(workload.batch / columns["dp"]).astype(int)
    plans = rack_plans(
        **columns, micro_batches=np.array([min(question.micro_batches, n) for n in items])
    )
    cost = evaluate(workload, plans, question.machine, question.assumptions)
    uses = uses_of(question, plans, np.array(wires, dtype=np.float64))
    allowed = np.ones(len(plans), dtype=np.bool_)
    return Everything(plans=plans, cost=cost, allowed=allowed, uses=uses).within(question.budgets)


@cache
def wiring(name: str, chips: int) -> tuple[int, int] | None:
    """Links and ports, or None where the topology has no such number of chips."""
    if chips == 1:
        return 0, 0
    try:
        sizes = sizes_of(name, [chips])
    except InputError:
        return None
    return int(link_count(name, sizes)[0]), int(ports_per_chip(name, sizes)[0])


def uses_of(question: RackQuestion, plans: RackPlans, wires: Any) -> dict[str, Any]:
    """What plans take of every budget, from the definitions."""
    chip, chips = question.machine.chip, plans.chips
    ratio = plans.pes / chip.pe_count
    uses: dict[str, Any] = {
        "total-pes": (chips * plans.pes).astype(float),
        "max-links": wires[:, 0],
        "max-ports": wires[:, 1],
    }
    area, a = chip.die_area_m2, chip.pe_area_share
    assert area is not None
    assert a is not None
    assert chip.pe_power_share is not None
    uses["max-area"] = chips * area * (1 - a + a * ratio)
    s = chip.pe_power_share
    busy = chip.idle_w + (chip.busy_w - chip.idle_w) * (1 - s + s * ratio)
    uses["max-power"] = chips * busy
    fullest = np.array([fullest_stage_bytes(question, n) for n in range(1, max(plans.pp) + 1)])
    sharers = plans.tp * np.where(plans.zero, plans.dp, 1)
    uses["max-memory"] = np.ceil(fullest[plans.pp - 1] / sharers)
    return uses


def fullest_stage_bytes(question: RackQuestion, stages: int) -> float:
    """Bytes of weights of the fullest of so many stages."""
    einsums = question.workload.einsums
    held = [0.0] * stages
    for at, einsum in enumerate(einsums):
        held[at * stages // len(einsums)] += einsum.weight_elements * question.workload.word_bytes
    return max(held)


def front_of(points: Any) -> Any:
    """(f, 2) the non-dominated points, ascending in the first column."""
    kept: list[tuple[float, float]] = []
    for first, second in sorted(map(tuple, points.tolist())):
        if not kept or second < kept[-1][1]:
            kept.append((first, second))
    return np.array(kept).reshape(-1, 2)
