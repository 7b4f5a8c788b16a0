"""The check of a certificate, step by step; the first thing that does not hold ends it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.base.errors import InputError
from planner.base.vocabulary import SPLITS
from planner.base.version import __version__
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.objectives import OBJECTIVES, Costs
from planner.plan import NO_RECOMPUTE, ORDERS, Plan, PlanTable
from planner.plan.plan import NAMED
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.schedules import SCHEDULES
from planner.verification.asked import Asked, asked_in
from planner.verification.bounds import NodeBounds, plan_bounds
from planner.verification.document import Certificate, Point, parsed, seal
from planner.verification.faults import Fault
from planner.verification.space import Choice, Node, Row, Space, table

SAME = 1e-9
"""Share by which a figure of the certificate may differ from the same one computed here."""
_AT_A_TIME = 50_000

TRUSTED = (
    "the cost model's evaluation of a plan (planner.cost), the rules of frameworks "
    "(planner.frameworks) and the databases, whose records the certificate names by SHA-256",
    "the reader of the question (planner.question), this check (planner.verification), numpy "
    "and Python",
    "that time and energy do not fall where a message gets slower, and what schedules say of the "
    "least bubble of a plan: the lemmas of docs/model/certificate.md",
)
"""What a reader of the verdict has to believe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a check found.

    Attributes:
        fault: The first thing that does not hold; empty: the certificate is right.
        claim: What is certified, in one sentence.
        checked: What was checked, by name: how many.
        cpu_s: Processor seconds of the check.
    """

    fault: str
    claim: str
    checked: Mapping[str, int]
    cpu_s: float

    @property
    def verified(self) -> bool:
        """Whether everything holds."""
        return not self.fault

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "verified": self.verified,
            "fault": self.fault or None,
            "claim": self.claim,
            "checked": dict(self.checked),
            "trusted": list(TRUSTED),
            "cpu_s": self.cpu_s,
        }


def verify(content: str | bytes, name: str = "certificate") -> Verdict:
    """Checks a certificate.

    Args:
        content: Of the file.
        name: What messages call it.

    Raises:
        NotACertificate: It is none.
    """
    started = time.process_time()
    document, certificate = parsed(content, name)
    check = _Check(document, certificate)
    fault = ""
    try:
        check.run()
    except Fault as found:
        fault = str(found)
    except InputError as error:  # of the question or of a plan
        fault = f"question: {' '.join(str(error).split())}"
    return Verdict(
        fault=fault,
        claim=_claim(certificate),
        checked=dict(check.checked),
        cpu_s=time.process_time() - started,
    )


def _claim(certificate: Certificate) -> str:
    """What is certified, in one sentence."""
    claim, chips = certificate.claim, certificate.space.chips
    on = f"{chips[0]:,} chips" if len(chips) == 1 else f"{chips[0]:,} to {chips[-1]:,} chips"
    job = f"{certificate.question.get('model')} on {on}"
    if claim.objective is None or claim.objective_name not in OBJECTIVES:
        ended = "no uniform plan fits" if claim.status == "infeasible" else "none was found in time"
        return f"{job}: {ended}"
    objective = OBJECTIVES[claim.objective_name]
    front = "; the front of time and energy is complete" if claim.front_complete else ""
    return (
        f"{job}: {objective.noun} {claim.objective:.6g} {objective.unit}, and no uniform plan is "
        f"below {claim.bound:.6g} {objective.unit}{front}"
    )


class _Check:
    """A certificate that is being checked."""

    def __init__(self, document: dict[str, Any], certificate: Certificate) -> None:
        self.document, self.own = document, certificate
        self.checked: Counter[str] = Counter()
        self.points = np.empty((0, 2))

    def run(self) -> None:
        """All steps in order.

        Raises:
            Fault: Something does not hold.
        """
        self._check_seal()
        self.asked = asked_in(self.own)
        self.space = Space(self.asked)
        self._check_front()
        self._check_partition()
        self._check_closed_nodes()
        self._check_plans()
        self._check_claim()
        self._check_more_chips()

    def _check_seal(self) -> None:
        if seal(self.document) != self.own.sha256:
            raise Fault("sha256: the seal is not that of the content")
        made = self.own.versions.get("planner")
        if made != __version__:
            raise Fault(f"versions: made by planner {made}; this is {__version__}")
        if sorted(self.own.versions) != ["planner"]:
            raise Fault("versions: planner alone has one")

    # The front.

    def _check_front(self) -> None:
        """Points of the front are plans of the space with their figures, and none beats another."""
        points = [self._figures(point, f"front: point {at}") for at, point in enumerate(self.own.front)]
        self.points = np.array(points).reshape(-1, 2)
        self.checked["points of the front"] = len(points)
        for at, point in enumerate(points):
            others = [other for place, other in enumerate(points) if place != at]
            if self._covered(np.array([point]), np.array(others).reshape(-1, 2)).any():
                raise Fault(f"front: point {at} is no better than another")
        if self.own.best is not None:
            self._figures(self.own.best, "best")

    def _figures(self, point: Point, where: str) -> tuple[float, float]:
        """Seconds and joules of a point, which it states, of a plan that the rules allow."""
        plan = self._plan(point, where)
        plans = PlanTable.from_plans([plan])
        if plan.chips not in self.asked.chips:
            raise Fault(f"{where}: the plan is on {plan.chips} chips")
        if not np.isclose(self.asked.clocks, plan.clock, rtol=SAME).any():
            raise Fault(f"{where}: clock {plan.clock} is none of the space")
        self._check_in_space(plans, where)
        costs = evaluate_totals(self.asked.model, plans)
        time_s, energy_j = float(costs.step_time_s[0]), float(costs.energy_j[0])
        _agree(where, "step_time_s", point.step_time_s, time_s)
        _agree(where, "energy_j", point.energy_j, energy_j)
        if not self.asked.within(costs.step_time_s, costs.energy_j, plans.chips)[0]:
            raise Fault(f"{where}: the plan breaks a limit on time, power or utilization")
        return time_s, energy_j

    def _plan(self, point: Point, where: str) -> Plan:
        try:
            plan = plan_of(PlanModel.model_validate(point.plan))
        except ValueError as error:
            raise Fault(f"{where}: is no plan ({str(error).splitlines()[0]})") from error
        if plan.stages is not None or plan.layout is not None or plan.offload:
            raise Fault(f"{where}: the plan is not in the space")
        return plan

    def _check_in_space(self, plans: PlanTable, where: str) -> None:
        """The one plan of a table is among those of its mesh."""
        row = _row_of(plans)
        meshes = {row[0][:6]}
        nodes, _ = self.space.nodes(meshes)
        mine = [node for node in nodes if node == row[0]]
        rows, _ = self.space.plans(mine)
        if row not in rows:
            raise Fault(f"{where}: the plan is not in the space")
        own = int(plans.order[0])
        orders = self.space.orders([row])[0]
        if own not in orders and not self._same_order(row, own, orders):
            raise Fault(f"{where}: the plan does not run in this order of its axes")
        chip, host = self.asked.fits(plans, memory_table(self.asked.model, plans))
        if not (chip[0] and host[0]):
            raise Fault(f"{where}: the plan does not fit in memory")

    def _same_order(self, row: Row, own: int, orders: Iterable[int]) -> bool:
        """Whether an order nests the axes above 1 as one of some does."""
        mesh = dict(zip(("tp", "cp", "pp", "dp", "fsdp"), row[0], strict=False))

        def nested(order: int) -> list[str]:
            return [axis for axis in ORDERS[order] if mesh[axis] > 1]

        return any(nested(order) == nested(own) for order in orders)

    # The partition.

    def _check_partition(self) -> None:
        """Every partial plan is listed once, or on a mesh without a plan that fits."""
        meshes, counts = self.space.meshes()
        nodes = self.own.nodes
        none = [tuple(row) for row in nodes.no_memory]
        _check_once(none, set(meshes), "nodes.no_memory")
        self.no_memory = set(none)
        every, partial = self.space.nodes(m for m in meshes if m not in self.no_memory)
        self.closed = [_node(row) for row in nodes.closed]
        self.searched = [_node(row) for row in nodes.searched]
        self.begun = [_node(row) for row in nodes.begun]
        self.waiting = [_node(row) for row in nodes.waiting]
        listed = [*self.closed, *self.searched, *self.begun, *self.waiting]
        _check_once(listed, set(every), "nodes")
        if missing := set(every) - set(listed):
            raise Fault(f"nodes: {_words(min(missing))} is missing")
        self._check_memory_of_meshes()
        self._count("factorizations", counts["factorizations"], kept="kept")
        counts["meshes"]["memory"] = len(none)
        self._count("meshes", counts["meshes"], kept="searched")
        partial |= Counter(
            bound=len(self.closed),
            left=len(self.begun) + len(self.waiting),
        )
        self._count("partial_plans", partial, kept="opened")
        self.checked["meshes"] = len(meshes)
        self.checked["partial plans"] = len(every)

    def _check_memory_of_meshes(self) -> None:
        """No plan fits on the meshes that are left out for memory."""
        nodes, _ = self.space.nodes(self.no_memory)
        rows, _ = self.space.plans(nodes)
        if (found := self._fitting(rows)).any():
            node = rows[int(np.flatnonzero(found)[0])][0]
            raise Fault(f"nodes.no_memory: a plan of {_words(node)} fits in memory")
        self.checked["plans on meshes without memory"] = len(rows)

    def _fitting(self, rows: Sequence[Row]) -> BoolArray:
        """(n,) plans that fit on chip and host."""
        found = [np.empty(0, dtype=np.bool_)]
        for start in range(0, len(rows), _AT_A_TIME):
            plans = table(rows[start : start + _AT_A_TIME])
            chip, host = self.asked.fits(plans, memory_table(self.asked.model, plans))
            found.append(chip & host)
        return np.concatenate(found)

    def _count(self, stage: str, counts: Mapping[str, int], kept: str) -> None:
        """The counts of a stage are those found here; what passed is what is left of all."""
        found = {name: number for name, number in counts.items() if number}
        passed = found.get("considered", 0) - sum(found.values()) + found.get("considered", 0)
        if passed:
            found[kept] = passed
        stated = {n: c for n, c in self.own.counts.get(stage, {}).items() if c or n in found}
        for name in sorted({*found, *stated}):
            if found.get(name, 0) != stated.get(name, 0):
                raise Fault(
                    f"counts.{stage}: {name} is {found.get(name, 0)}, not {stated.get(name, 0)}"
                )

    # Bounds.

    def _check_closed_nodes(self) -> None:
        """Bounds are what they are said to be, and the front covers those of closed nodes."""
        nodes = self.own.nodes
        rows = [*nodes.closed, *nodes.begun, *nodes.waiting]
        listed = [*self.closed, *self.begun, *self.waiting]
        recompute = [_code("recompute", row[10], "nodes") for row in rows]
        bounds = NodeBounds(self.asked, self.space, list(dict.fromkeys(n[:6] for n in listed)))
        corners = bounds.of(listed, recompute)
        self.lowest = corners[len(nodes.closed) :].reshape(-1, 2)
        for at, row in enumerate(rows):
            where = f"nodes: {_words(listed[at])}"
            _agree(where, "least seconds", row[11], float(corners[at, :, 0].min()))
            _agree(where, "least joules", row[12], float(corners[at, :, 1].min()))
        self._check_recompute(listed, recompute)
        open_corners = ~self._covered(corners[: len(nodes.closed)].reshape(-1, 2))
        if open_corners.any():
            at = int(np.flatnonzero(open_corners)[0]) // len(self.asked.clocks)
            raise Fault(f"nodes: {_words(listed[at])} is closed, but no point is below its bound")
        self.checked["bounds of partial plans"] = len(rows)

    def _check_recompute(self, nodes: Sequence[Node], recompute: Sequence[int]) -> None:
        """No plan fits that recomputes less than the bounds of its node assume."""
        least = {node: code for node, code in zip(nodes, recompute, strict=True) if code > NO_RECOMPUTE}
        every, _ = self.space.plans(least)
        rows = [row for row in every if row[1][3] < least[row[0]]]
        if (found := self._fitting(rows)).any():
            node = rows[int(np.flatnonzero(found)[0])][0]
            raise Fault(f"nodes: a plan of {_words(node)} recomputes less than its bound assumes")
        self.checked["plans that would recompute less"] = len(rows)

    def _covered(self, corners: FloatArray, points: FloatArray | None = None) -> BoolArray:
        """(n,) corners of which a point of the front is no worse in both."""
        found = np.zeros(len(corners), dtype=np.bool_)
        for point in self.points if points is None else points:
            found |= (point[0] <= corners[:, 0] * (1 + SAME)) & (
                point[1] <= corners[:, 1] * (1 + SAME)
            )
        return found

    # Plans.

    def _check_plans(self) -> None:
        """Every plan that fits on a searched node is listed once; see `_check_costed`."""
        nodes = [*self.searched, *self.begun]
        rows, counts = self.space.plans(nodes)
        plans = table(rows)
        chip, host = self._held(plans)
        counts["memory"], counts["host_memory"] = int((~chip).sum()), int((chip & ~host).sum())
        self._count("plans", counts, kept="kept")
        begun = set(self.begun)
        fits = [row for row, good in zip(rows, chip & host, strict=True) if good and row[0] not in begun]
        own = self.own.plans
        closed = [self._listed(row) for row in own.closed]
        costed = [self._listed(row) for row in own.costed]
        _check_once([*closed, *costed], set(fits), "plans")
        if missing := set(fits) - set(closed) - set(costed):
            raise Fault(f"plans: one on {_words(min(missing)[0])} is missing")
        self.checked["plans"] = len(rows)
        self._check_closed_plans(closed)
        self._check_costed(costed)

    def _held(self, plans: PlanTable) -> tuple[BoolArray, BoolArray]:
        parts = [(np.empty(0, dtype=np.bool_),) * 2]
        for start in range(0, len(plans), _AT_A_TIME):
            part = plans.take(np.arange(start, min(start + _AT_A_TIME, len(plans))))
            parts.append(self.asked.fits(part, memory_table(self.asked.model, part)))
        chip, host = zip(*parts, strict=True)
        return np.concatenate(chip), np.concatenate(host)

    def _listed(self, row: Sequence[Any]) -> Row:
        at, sharding, spread, mode, recompute = row[:5]
        if not 0 <= at < len(self.searched):
            raise Fault(f"plans: no node has the number {at}")
        choice: Choice = (
            _code("sharding", sharding, "plans"),
            spread,
            _code("cp_mode", mode, "plans"),
            _code("recompute", recompute, "plans"),
        )
        return self.searched[at], choice

    def _check_closed_plans(self, rows: Sequence[Row]) -> None:
        """Bounds of plans are what they are said to be, and the front covers them."""
        corners = plan_bounds(self.asked, rows, self.space.orders(rows))
        for at, stated in enumerate(self.own.plans.closed):
            where = f"plans: one on {_words(rows[at][0])}"
            _agree(where, "least seconds", stated[5], float(corners[at, :, 0].min()))
            _agree(where, "least joules", stated[6], float(corners[at, :, 1].min()))
        uncovered = ~self._covered(corners.reshape(-1, 2))
        if uncovered.any():
            at = int(np.flatnonzero(uncovered)[0]) // len(self.asked.clocks)
            raise Fault(f"plans: one on {_words(rows[at][0])} is closed, but no point is below it")
        self.checked["bounds of plans"] = len(rows)

    def _check_costed(self, rows: Sequence[Row]) -> None:
        """No order and clock of the costed plans that the limits allow is better than the front."""
        clocks = self.asked.clocks
        every = [
            (row, order)
            for row, orders in zip(rows, self.space.orders(rows), strict=True)
            for order in orders
        ]
        for start in range(0, len(every), _AT_A_TIME):
            part = every[start : start + _AT_A_TIME]
            placed = table([row for row, _ in part], [order for _, order in part])
            self._check_candidates(placed, clocks)
        self.checked["candidates costed"] += len(every) * len(clocks)

    def _check_candidates(self, placed: PlanTable, clocks: FloatArray) -> None:
        for clock in clocks:
            plans = replace(placed, clock=np.full(len(placed), clock))
            costs = evaluate_totals(self.asked.model, plans)
            points = np.stack([costs.step_time_s, costs.energy_j], axis=1)
            allowed = self.asked.within(points[:, 0], points[:, 1], plans.chips)
            better = allowed & ~self._covered(points)
            if better.any():
                row = int(np.flatnonzero(better)[0])
                plan = plans.take(np.array([row]))
                raise Fault(
                    f"plans: one on {_words(_row_of(plan)[0])} of {plan.chips[0]} chips is better "
                    f"than the front: {points[row, 0]:.6g} s, {points[row, 1]:.6g} J"
                )

    def _check_more_chips(self) -> None:
        """On greater numbers of chips, which were asked for, no plan is within the limits."""
        self.points = np.empty((0, 2))
        for chips in self.asked.more_chips:
            self.asked = replace(self.asked, chips=(chips,))
            self.space = Space(self.asked)
            nodes, _ = self.space.nodes(self.space.meshes()[0])
            rows, _ = self.space.plans(nodes)
            fits = self._fitting(rows)
            self._check_costed([row for row, good in zip(rows, fits, strict=True) if good])
            self.checked["plans on more chips"] += len(rows)

    # The claim.

    def _check_claim(self) -> None:
        """Status, objective, bound and gap follow from the front and from what is left."""
        claim, objective = self.own.claim, self.asked.request.minimized
        left = bool(self.begun or self.waiting)
        if claim.objective_name != objective.name:
            raise Fault(f"claim: the question asks for {objective.name}")
        if claim.front_complete != (not left and bool(len(self.points))):
            raise Fault("claim: whether the front is complete does not follow from what is left")
        if not len(self.points):
            self._check_without_plan(left)
            return

        def value(points: FloatArray) -> FloatArray:
            return np.asarray(
                objective.values(Costs(step_time_s=points[:, 0], energy_j=points[:, 1]))
            )

        best = float(value(self.points).min())
        lowest = np.concatenate([self.points, self.lowest]).min(axis=0)[None]
        bound = min(float(value(lowest)[0]), best) if left else best
        if claim.objective is None or claim.bound is None or claim.gap is None:
            raise Fault("claim: figures are missing")
        _agree("claim", "objective", claim.objective, best)
        _agree("claim", "bound", claim.bound, bound)
        _agree("claim", "gap", claim.gap + 1, (best - bound) / best + 1)
        status = "optimal" if bound >= best * (1 - SAME) else "feasible"
        if claim.status != status:
            raise Fault(f"claim: the status is {status}, not {claim.status}")
        self._check_best(value, best)

    def _check_without_plan(self, left: bool) -> None:
        """Where there is no plan nothing is claimed of one."""
        claim, status = self.own.claim, "time_limit" if left else "infeasible"
        figures = (claim.objective, claim.bound, claim.gap, self.own.best)
        if claim.status != status or any(figure is not None for figure in figures):
            raise Fault(f"claim: without a plan the status is {status}, without figures")

    def _check_best(self, value: Callable[[FloatArray], FloatArray], least: float) -> None:
        if self.own.best is None:
            raise Fault("best: is missing")
        own = np.array([[self.own.best.step_time_s, self.own.best.energy_j]])
        _agree("best", "objective", float(value(own)[0]), least)


def _agree(where: str, what: str, stated: float, found: float) -> None:
    """A figure is what is computed here.

    Raises:
        Fault: It differs by more than `SAME`.
    """
    if not abs(stated - found) <= SAME * max(abs(found), abs(stated)):
        raise Fault(f"{where}: {what} is {found:.12g}, not {stated:.12g}")


def _check_once(listed: Sequence[Any], every: set[Any], where: str) -> None:
    """What is listed is in the space, and nothing twice.

    Raises:
        Fault: It is not.
    """
    seen = set()
    for row in listed:
        node = row[0] if len(row) == 2 else row
        if row not in every:
            raise Fault(f"{where}: {_words(node)} is not in the space")
        if row in seen:
            raise Fault(f"{where}: {_words(node)} is there twice")
        seen.add(row)


def _words(row: Sequence[int]) -> str:
    """A mesh or a partial plan in one phrase."""
    names = ("tp", "cp", "pp", "dp", "fsdp", "ep", "micro-batch")
    sizes = " ".join(f"{name} {size}" for name, size in zip(names, row, strict=False))
    if len(row) < 10:
        return sizes
    return f"{sizes} {SCHEDULES[row[7]]} interleave {row[8]} {SPLITS[row[9]]}"


def _code(name: str, value: str, where: str) -> int:
    if value not in NAMED[name]:
        raise Fault(f"{where}: {value!r} is no {name}")
    return list(NAMED[name]).index(value)


def _node(row: Sequence[Any]) -> Node:
    """A partial plan with codes in place of names."""
    schedule, split = _code("schedule", row[7], "nodes"), _code("split", row[9], "nodes")
    return (*row[:7], schedule, row[8], split)  # type: ignore[return-value]


def _row_of(plans: PlanTable) -> Row:
    """The one plan of a table."""
    names = ("tp", "cp", "pp", "dp", "fsdp", "ep", "micro_batch", "schedule", "interleave", "split")
    node = tuple(int(getattr(plans, name)[0]) for name in names)
    choice = (
        int(plans.sharding[0]),
        bool(plans.sequence_parallel[0]),
        int(plans.cp_mode[0]),
        int(plans.recompute[0]),
    )
    return node, choice  # type: ignore[return-value]
