"""CP-SAT against an evaluation of every plan, for the joint search of racks.

Both find the exact front of latency and energy of one question in one run; unless their fronts
agree to the rounding of the integers, nothing is printed and the exit status is 1. Enumeration is
the faster one while its plans fit in memory: what CP-SAT adds is the proof with a bound, and that
its tables grow with the sums, not with the products, of what is chosen.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from itertools import product

import measuring
import numpy as np
from measuring import cpu_seconds

from planner.base.arrays import FloatArray
from planner.studies.rack.model.evaluate import evaluate
from planner.studies.rack.model.plans import rack_plans
from planner.studies.rack.solve.joint import JointProblem, joint_problem
from planner.studies.rack.solve.question import RackQuestion, micro_batches_of
from planner.studies.rack.solve.request import rack_request
from solvers.factored_cpsat import front
from solvers.frontier import nondominated

_QUESTIONS = {
    "fc, ZeRO, 2-12 chips": {"workload": "fc", "strategy": "zero"},
    "conv, all strategies, 2-12 chips": {"workload": "conv"},
    "attention, all strategies, 2-12 chips": {"workload": "attention"},
    "ffn, all strategies, 2-32 chips": {"workload": "ffn", "gpus": "2-32"},
    "ffn, 2-64 chips, 16 PE counts": {
        "workload": "ffn",
        "gpus": "2-64",
        "pes": ",".join(str(33 * n) for n in range(1, 17)),
        "topology": "linear,ring,fully-connected,mesh,torus,hyperx,star",
    },
}
_TOLERANCE = 1e-5


def every_plan(question: RackQuestion) -> FloatArray:
    """(f, 2) the front, from all plans at once."""
    names = question.machine.topologies
    count = len(question.workload.einsums)
    rows = [
        (dp, chips // dp // pp, pp, zero, pes, kind)
        for chips in question.chips
        for dp, pp in product(range(1, chips + 1), range(1, count + 1))
        if chips % (dp * pp) == 0 and dp <= question.batch
        for zero in ((0, 1) if dp > 1 else (0,))
        for pes, kind in product(question.pes, range(len(names)))
        if question.machine.has_rack(names[kind], chips)
        and _allowed(question, dp, chips // dp // pp, pp, zero)
    ]
    columns = dict(
        zip(("dp", "tp", "pp", "zero", "pes", "topology"), np.array(rows).T, strict=True)
    )
    plans = rack_plans(micro_batches=micro_batches_of(question, columns["dp"]), **columns)
    cost = evaluate(question.workload, plans, question.machine, question.assumptions)
    points = np.stack([cost.latency_s, cost.total_j], axis=1)
    return points[nondominated(points)]


def _allowed(question: RackQuestion, dp: int, tp: int, pp: int, zero: int) -> bool:
    wanted = question.strategies
    most = min(
        e.copies if e.copies > 1 or not e.has_weights else e.outputs
        for e in question.workload.einsums
    )
    used = {"tp": tp > 1, "pp": pp > 1, "zero" if zero else "dp": dp > 1}
    return tp <= most and all(name in wanted for name, there in used.items() if there)


def by_solver(joint: JointProblem) -> FloatArray:
    """(f, 2) the front by CP-SAT, ascending in latency."""
    units = np.array([joint.time_quantum_s, joint.energy_quantum_j])
    found = [(t, e) for t, e, _ in front(joint.problem, ("time", "energy"))]
    return np.asarray(np.array(found[::-1], dtype=np.float64) * units)


def _solved(question: RackQuestion) -> FloatArray:
    """The front with the building of its tables."""
    return by_solver(joint_problem(question))


def agree(one: FloatArray, other: FloatArray) -> bool:
    """Whether every point of each front is reached by the other, to the rounding."""
    return all(
        bool(np.any(np.all(front_of <= point * (1 + _TOLERANCE), axis=1)))
        for front_of, points in ((one, other), (other, one))
        for point in points
    )


def main() -> int:
    """Prints one line per question."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(f"{'question':40}{'plans':>8}{'rows':>7}{'front':>7}{'CP-SAT':>10}{'all plans':>11}"
          f"{'ratio':>8}")  # fmt: skip
    for name, given in _QUESTIONS.items():
        question = rack_request(**given).question  # type: ignore[arg-type]
        joint = joint_problem(question)
        solved, listed = by_solver(joint), every_plan(question)
        if not agree(solved, listed):
            print(f"{name}: the fronts differ", file=sys.stderr)
            return 1
        solving = cpu_seconds(partial(_solved, question), repeats).best
        listing = cpu_seconds(partial(every_plan, question), repeats).best
        rows = sum(len(table.rows) for table in joint.problem.tables)
        print(f"{name:40}{joint.plans:8,}{rows:7,}{len(solved):7}{solving:9.3f}s{listing:10.3f}s"
              f"{solving / listing:8.1f}")  # fmt: skip
    return 0


if __name__ == "__main__":
    del measuring  # imported first, so that it pins threads
    sys.exit(main())
