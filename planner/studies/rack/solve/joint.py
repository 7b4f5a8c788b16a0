"""The joint search as a factored integer problem, from the separable terms of the rack model.

    mesh      dp tp pp = chips, for the chips and strategies asked for
    compute   (dp, tp, pp, pes)             -> seconds and joules of computing
    transfer  (dp, tp, pp, zero, topology)  -> seconds of fetching weights, of the rest; joules
    wiring    (chips, topology)             -> links, ports per chip
    weights   (dp, tp, pp, zero)            -> bytes of weights per chip
    silicon   (pes)                         -> area and rated power of a chip

Every term comes from `planner.studies.rack.model.evaluate.evaluate`, once per row of its table.
Seconds and joules are multiples of two quanta, rounded once per row; a decision of the solver is
evaluated again in floating point and must agree to the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.units import plural
from planner.machine.scaling import area_m2_at, busy_w_at
from planner.network.topology.fit import nearest_chips
from planner.network.topology.forms import link_count, ports_per_chip, sizes_of
from planner.studies.rack.model.compute import Compute, compute
from planner.studies.rack.model.evaluate import RackCost, evaluate
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans, rack_plans
from planner.studies.rack.solve.question import (
    BUDGETS,
    RackQuestion,
    micro_batches_of,
    weight_bytes_per_chip,
)
from solvers.factored import Expression, FactoredProblem, Limit, Ops, Table

CHOICES = ("chips", "dp", "tp", "pp", "zero", "pes", "topology")
_QUANTA = 1_000_000  # of the least computing time and energy
_MOST_QUANTA = 2**38
_LARGEST = 2**53
_FEW = 4  # numbers that a message lists one by one
_PER_CHIP = {"total-pes": "pes", "max-area": "area", "max-power": "power"}
_WHOLE = 1e-6  # quanta by which a quotient of floats may miss a whole number


@dataclass(frozen=True, slots=True, kw_only=True)
class JointProblem:
    """The integer problem of a question.

    Attributes:
        question: What is asked.
        problem: Objectives `time`, `energy`, `parts` (links, PEs per chip, the order of the
            topologies) and one per budget; limits for the budgets that are given.
        time_quantum_s, energy_quantum_j: Units of `time` and `energy`.
        static_quantum_s: Unit of time in the static part of `energy`; None where there is none.
        plans: Combinations of choices before budgets.
    """

    question: RackQuestion
    problem: FactoredProblem
    time_quantum_s: float
    energy_quantum_j: float
    static_quantum_s: float | None
    plans: int

    def decode(self, decision: Mapping[str, int]) -> RackPlans:
        """The plan behind a decision."""
        columns = {name: np.array([decision[name]]) for name in CHOICES if name != "chips"}
        return with_micro_batches(self.question, columns)

    def without(self, *budgets: str) -> FactoredProblem:
        """The problem without the limits of some budgets."""
        kept = tuple(limit for limit in self.problem.limits if limit.name not in budgets)
        return replace(self.problem, limits=kept)

    def steps(self, budget: str) -> list[int]:
        """What plans may take of a budget, ascending, in its quanta."""
        domains, of = self.problem.domains(), _PER_CHIP.get(budget)
        if of is None:
            return [int(v) for v in domains[budget.removeprefix("max-")]]
        return [int(v) for v in np.unique(np.outer(domains["chips"], domains[of]))]


def with_micro_batches(question: RackQuestion, columns: Mapping[str, IntArray]) -> RackPlans:
    """Plans from columns; columns that are missing have the first value."""
    given = {"pes": np.asarray(question.pes[0]), **columns}
    return rack_plans(micro_batches=micro_batches_of(question, given["dp"]), **given)


def cost_of(question: RackQuestion, plans: RackPlans) -> RackCost:
    """What plans cost by the rack model."""
    return evaluate(question.workload, plans, question.machine, question.assumptions)


def joint_problem(question: RackQuestion) -> JointProblem:
    """Builds the integer problem.

    Raises:
        InputError: No strategy splits the workload over the chips asked for, no topology has that
            many chips, the record of the chip has no area, or its array not that many PEs.
    """
    meshes, wiring = mesh_rows(question), _wiring(question)
    meshes = meshes[np.isin(meshes.prod(axis=1), wiring.rows[:, 0])]
    if not len(meshes):
        raise InputError(_no_mesh(question))
    computed, transfer = _compute(question, meshes), _transfer(question, meshes, wiring)
    quanta, watts = _units(question, computed, transfer)
    products = np.column_stack([meshes, meshes.prod(axis=1)])
    tables = (
        Table(name="mesh", keys=("dp", "tp", "pp", "chips"), rows=products, outputs={}),
        _table("compute", ("dp", "tp", "pp", "pes"), computed, quanta),
        _table("transfer", ("dp", "tp", "pp", "zero", "topology"), transfer, quanta),
        wiring,
        *_budget_tables(question, meshes),
    )
    uses = _uses(question)
    problem = FactoredProblem(
        choices=_choices(tables),
        objectives={**_objectives(question, watts), **uses},
        tables=tables,
        limits=tuple(
            Limit(name=name, expression=uses[name], upper=quanta_of(name, most))
            for name, most in question.budgets.items()
        ),
    )
    return JointProblem(
        question=question,
        problem=problem,
        time_quantum_s=quanta["s"],
        static_quantum_s=quanta.get("c"),
        energy_quantum_j=quanta["j"],
        plans=len(transfer["dp"]) * len(question.pes),
    )


def _units(
    question: RackQuestion, computed: Mapping[str, Any], transfer: Mapping[str, Any]
) -> tuple[dict[str, float], int]:
    """Seconds `s` and joules `j` of a quantum, and the idle power in `j` per `c` seconds.

    Idle power times a whole number of `c` must be a whole number of `j`: where a quantum of time
    costs less than one of energy, energy counts time in the longer `c`; else `j` follows.
    """
    seconds = _quantum(computed["compute_s"], transfer["fetch_s"], transfer["others_s"])
    joules = _quantum(computed["compute_j"], transfer["moving_j"])
    idle_w = question.machine.chip.idle_w if question.assumptions.static_power else 0.0
    if idle_w <= 0:
        return {"s": seconds, "j": joules}, 0
    if idle_w * seconds < joules:
        return {"s": seconds, "j": joules, "c": joules / idle_w}, 1
    terms = (computed["compute_s"], transfer["fetch_s"], transfer["others_s"])
    longest = sum(float(np.max(part)) for part in terms) / seconds
    most = max(1, int(_LARGEST / 8 / max(question.chips) / longest))
    watts = min(round(idle_w * seconds / joules), most)
    return {"s": seconds, "j": idle_w * seconds / watts, "c": seconds}, watts


def quanta_of(budget: str, value: float) -> int:
    """A budget, or what one chip takes of it, as an integer of the problem: rounded down.

    So a plan that takes a budget exactly keeps it; less than a quantum per chip is overlooked.
    """
    return math.floor(min(value / BUDGETS[budget].quantum + _WHOLE, float(_LARGEST)))


def mesh_rows(question: RackQuestion) -> IntArray:
    """(m, 3) of dp, tp, pp whose product is one of the numbers of chips.

    dp is at most the number of items, pp that of einsums, and tp what every einsum can be split
    into: its outputs, or its copies where it has several or no weights.
    """
    workload, wanted = question.workload, set(question.strategies)
    most = {
        "dp": question.batch if wanted & {"dp", "zero"} else 1,
        "tp": min(
            einsum.copies if einsum.copies > 1 or not einsum.has_weights else einsum.outputs
            for einsum in workload.einsums
        )
        if "tp" in wanted
        else 1,
        "pp": len(workload.einsums) if "pp" in wanted else 1,
    }
    rows = [
        (dp, chips // dp // pp, pp)
        for chips in question.chips
        for dp in range(1, min(chips, most["dp"]) + 1)
        if chips % dp == 0
        for pp in range(1, most["pp"] + 1)
        if chips // dp % pp == 0 and chips // dp // pp <= most["tp"]
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _no_mesh(question: RackQuestion) -> str:
    ways, chips = ", ".join(question.strategies), _counts(question.chips)
    return (
        f"strategy: {ways} cannot split {plural(question.batch, 'item')} of "
        f"{question.workload.name} over {chips} chips; allow more strategies or chip counts"
    )


def _wiring(question: RackQuestion) -> Table:
    """Links and ports of every topology that has one of the numbers of chips; 0 for one chip."""
    rows, links, ports = [], [], []
    for index, name in enumerate(question.machine.topologies):
        for chips in question.chips:
            if question.machine.has_rack(name, chips):
                rows.append((chips, index))
                found = links_and_ports(question.machine, name, chips)
                links.append(found[0])
                ports.append(found[1])
    if not rows:
        raise InputError(_no_rack(question))
    return Table(
        name="wiring",
        keys=("chips", "topology"),
        rows=np.array(rows, dtype=np.int64),
        outputs={"links": np.array(links), "ports": np.array(ports)},
    )


def _no_rack(question: RackQuestion) -> str:
    """One line for each topology: the numbers of chips that it has, near those asked for."""
    asked, lines = question.chips, []
    for name in question.machine.topologies:
        fixed = question.machine.fixed.get(name)
        near = {fixed.chips} if fixed else {n for end in asked for n in nearest_chips(name, end)}
        nearest = " or ".join(map(str, sorted(near)))
        lines.append(f"topology: no {name} has {_counts(asked)} chips; nearest: {nearest}")
    return "\n".join(lines)


def _counts(chips: tuple[int, ...]) -> str:
    """Numbers of chips in a message."""
    return ", ".join(map(str, chips)) if len(chips) <= _FEW else f"{chips[0]} to {chips[-1]}"


def links_and_ports(machine: Machine, name: str, chips: int) -> tuple[int, int]:
    """Links, and the most of them at one chip; none for a single chip."""
    if name in machine.fixed:
        return machine.fixed[name].links, machine.fixed[name].ports
    if chips == 1:
        return 0, 0
    sizes = sizes_of(name, [chips])
    return int(link_count(name, sizes)[0]), int(ports_per_chip(name, sizes)[0])


def _compute(question: RackQuestion, meshes: IntArray) -> dict[str, Any]:
    pes = np.asarray(question.pes, dtype=np.int64)
    columns = dict(zip(("dp", "tp", "pp"), np.repeat(meshes, len(pes), axis=0).T, strict=True))
    columns["pes"] = np.tile(pes, len(meshes))
    plans = with_micro_batches(question, columns)
    computed = compute(question.workload, plans, question.machine, question.assumptions)
    return {**columns, "compute_s": computed.latency_s, "compute_j": _computing_j(computed)}


def _computing_j(computed: Compute) -> FloatArray:
    """(n,) joules that depend on the mesh and the PEs alone."""
    return np.asarray(sum(computed.energy_j.values()), dtype=np.float64)


def _transfer(question: RackQuestion, meshes: IntArray, wiring: Table) -> dict[str, Any]:
    """Rows of the meshes with every sharding and topology that they can have."""
    wanted = set(question.strategies)
    at = np.arange(len(meshes))
    mesh, zero, kind = (
        grid.ravel()
        for grid in np.meshgrid(at, [0, 1], range(len(question.machine.topologies)), indexing="ij")
    )
    parallel = meshes[mesh, 0] > 1
    allowed = np.where(parallel, np.where(zero == 1, "zero" in wanted, "dp" in wanted), zero == 0)
    kinds = len(question.machine.topologies)
    wired = wiring.rows[:, 0] * kinds + wiring.rows[:, 1]
    kept = allowed & np.isin(meshes[mesh].prod(axis=1) * kinds + kind, wired)
    columns = dict(zip(("dp", "tp", "pp"), meshes[mesh[kept]].T, strict=True))
    columns |= {"zero": zero[kept], "topology": kind[kept]}
    cost = cost_of(question, with_micro_batches(question, columns))
    rest = [one.latency_s for name, one in cost.transfers.items() if name != "weight fetch"]
    return {
        **columns,
        "fetch_s": cost.transfers["weight fetch"].latency_s,
        "others_s": np.sum(rest, axis=0),
        # network and main memory: they depend on the sharding, not on the PEs
        "moving_j": cost.total_j - _computing_j(cost.compute) - cost.energy_j.get("static", 0.0),
    }


def _quantum(least: FloatArray, *others: FloatArray) -> float:
    """A unit in which the least value has a million, and the largest fits beside others."""
    most = max(float(np.max(values)) for values in (least, *others))
    return max(float(np.min(least)) / _QUANTA, most / _MOST_QUANTA)


def _table(
    name: str, keys: tuple[str, ...], columns: Mapping[str, Any], quanta: Mapping[str, float]
) -> Table:
    """A table of terms in quanta; the unit of a term ends its name."""
    if "c" in quanta:
        again = {term[:-1] + "c": v for term, v in columns.items() if term.endswith("_s")}
        columns = {**columns, **again}
    return Table(
        name=name,
        keys=keys,
        rows=np.stack([columns[key] for key in keys], axis=1).astype(np.int64),
        outputs={
            term: np.rint(np.asarray(values) / quanta[term.rpartition("_")[2]]).astype(np.int64)
            for term, values in columns.items()
            if term not in keys
        },
    )


def _budget_tables(question: RackQuestion, meshes: IntArray) -> list[Table]:
    """Weights and silicon, where a budget asks for them."""
    tables = []
    if "max-memory" in question.budgets:
        columns = {
            name: np.repeat(column, 2)
            for name, column in zip(("dp", "tp", "pp"), meshes.T, strict=True)
        }
        columns["zero"] = np.tile([0, 1], len(meshes))
        held = weight_bytes_per_chip(question, with_micro_batches(question, columns))
        columns["memory"] = held.astype(np.int64)
        tables.append(_table("weights", ("dp", "tp", "pp", "zero"), columns, {"memory": 1.0}))
    pes = np.asarray(question.pes, dtype=np.int64)
    for budget, of in (("max-area", area_m2_at), ("max-power", busy_w_at)):
        if budget in question.budgets:
            name = budget.removeprefix("max-")
            each = [quanta_of(budget, float(value)) for value in of(question.machine.chip, pes)]
            output = {name: np.array(each, dtype=np.int64)}
            tables.append(Table(name=name, keys=("pes",), rows=pes[:, None], outputs=output))
    return tables


def _choices(tables: tuple[Table, ...]) -> dict[str, tuple[int, ...]]:
    """Values of each choice that occur in some table."""
    found: dict[str, tuple[int, ...]] = {}
    for name in CHOICES:
        columns = [table.rows[:, table.keys.index(name)] for table in tables if name in table.keys]
        common = set.intersection(*(set(column.tolist()) for column in columns))
        found[name] = tuple(sorted(common))
    return found


def _uses(question: RackQuestion) -> dict[str, Expression]:
    """What a plan takes of each budget that is given, in its quanta."""
    known: dict[str, Expression] = {
        "total-pes": lambda v, _: v["chips"] * v["pes"],
        "max-area": lambda v, _: v["chips"] * v["area"],
        "max-power": lambda v, _: v["chips"] * v["power"],
        "max-links": lambda v, _: v["links"],
        "max-ports": lambda v, _: v["ports"],
        "max-memory": lambda v, _: v["memory"],
    }
    return {name: known[name] for name in question.budgets}


def _objectives(question: RackQuestion, watts: int) -> dict[str, Expression]:
    """Time, energy and parts; the latency is that of `planner.studies.rack.model.evaluate`."""
    a = question.assumptions

    def both(ops: Ops, first: Any, second: Any, *, hidden: bool) -> Any:
        return ops.maximum(first, second) if hidden else first + second

    def time(v: Mapping[str, Any], ops: Ops, unit: str = "s") -> Any:
        terms = [v[f"{term}_{unit}"] for term in ("compute", "fetch", "others")]
        busy = both(ops, *terms[:2], hidden=a.hides_fetch)
        return both(ops, busy, terms[2], hidden=a.hides_collectives)

    def energy(v: Mapping[str, Any], ops: Ops) -> Any:
        moved = v["compute_j"] + v["moving_j"]
        return moved + time(v, ops, "c") * v["chips"] * watts if watts else moved

    kinds = len(question.machine.topologies)
    most_pes = max(question.pes) + 1

    def parts(v: Mapping[str, Any], _: Ops) -> Any:
        return (v["links"] * most_pes + v["pes"]) * kinds + v["topology"]

    return {"time": time, "energy": energy, "parts": parts}
