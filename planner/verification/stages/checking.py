"""The check of a proof whose stages differ; the first thing that does not hold ends it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.base.version import __version__
from planner.base.vocabulary import MESH_AXES
from planner.cost.evaluate import evaluate_totals, memory_table
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import owners, without_pools
from planner.frameworks.rules import broken, violations
from planner.plan import Plan, PlanTable
from planner.plan.choices import fixed_values
from planner.plan.plan import NAMED
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.question.kinds.kind import Kind, kind_of
from planner.question.kinds.uneven import is_fastest_alone
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.verification.asked import asked_of_one, fingerprints
from planner.verification.case import SAME, agree
from planner.verification.checking import TRUSTED, Verdict
from planner.verification.document import seal
from planner.verification.faults import Fault
from planner.verification.stages.document import Program, StageProof, digest, opened

STAGES_TRUSTED = (
    *TRUSTED,
    "the bounds that drop rows (LB0, LB1, LB2, of power), whose counts and least values are shown",
    "that the program of a row holds every plan of it that is wanted, in whole numbers that are "
    "rounded down, and that rows without a program have no better plan; --every solves the "
    "question again and compares the programs",
    "SCIP, or whatever solver reads the MPS files",
)
_FIXED = (*MESH_AXES, "micro_batch", "schedule", "interleave", "cp_mode")
WANTED = "wanted"
"""Row of a program that keeps its objective below a value (`solvers.stages.mps`)."""
_ROUNDING = 1e-6  # of the integer programs in floating point


def not_covered(request: Request) -> str:
    """Why no such proof of a question is written or read; empty where one is."""
    kind = kind_of(request)
    if kind not in (Kind.UNEVEN, Kind.POOLS):
        return "archives are of stages that differ and of pools; name a .json file"
    if request.objective != "time":
        return f"archives cover the least step time, not {request.objective}"
    if kind is Kind.UNEVEN and not is_fastest_alone(request):
        return "archives cover the fastest plan alone; add --front-points 1"
    later = (request.resume_from, request.down, request.phases or None)
    if any(given is not None for given in later):
        return "archives cover one step, not the phases of a run or what goes on from one"
    return ""


def fingerprints_of(request: Request) -> dict[str, str]:
    """SHA-256 of what the figures rest on, by what it is; of pools each with its name."""
    if kind_of(request) is not Kind.POOLS:
        return fingerprints(resolve(request))
    pooled = resolve_pools(request, ARGUMENTS)
    return {
        f"{what} of {pool.name}": sha
        for pool, each in zip(pooled.pools, pooled.each, strict=True)
        for what, sha in fingerprints(each).items()
    }


def verify_stages(content: bytes, name: str = "certificate") -> Verdict:
    """Checks the archive of a proof.

    Args:
        content: Of the file.
        name: What messages call it.

    Raises:
        InputError: It is no such archive.
    """
    started = time.process_time()
    document, own, texts = opened(content, name)
    checked, fault = Counter[str](), ""
    try:
        if seal(document) != own.sha256:
            raise Fault("sha256: the seal is not that of the content")
        _check(own, texts, checked)
    except Fault as found:
        fault = str(found)
    except InputError as error:
        fault = f"question: {' '.join(str(error).split())}"
    claim = own.claim
    return Verdict(
        fault=fault,
        claim=(
            f"{own.question.get('model')}: step time {claim.objective:.6g} s, and no plan whose "
            f"stages may differ is below {claim.bound:.6g} s"
        ),
        checked=checked,
        trusted=STAGES_TRUSTED,
        cpu_s=time.process_time() - started,
    )


def _check(own: StageProof, texts: Mapping[str, str], checked: Counter[str]) -> None:
    """All steps in order; `checked` grows.

    Raises:
        Fault: Something does not hold.
    """
    if own.versions != {"planner": __version__}:
        raise Fault(f"versions: made by {own.versions}; this is {__version__}")
    request = request_from(own.question)
    if why := not_covered(request):
        raise Fault(f"question: {why}")
    if own.records != fingerprints_of(request):
        raise Fault("records: those here are not those of the certificate (SHA-256)")
    _check_best(own, request)
    if sorted(texts) != sorted(program.file for program in own.programs):
        raise Fault("programs: the files of the archive are not those that are listed")
    for program in own.programs:
        _check_program(program, texts[program.file])
    checked["programs solved by SCIP"] = len(own.programs)
    checked["rows without a program"] = own.without_program
    checked["rows dropped by bounds"] = sum(step.dropped for step in own.funnel)
    _check_claim(own)


def _check_claim(own: StageProof) -> None:
    """Bound, gap and status follow from what was dropped, solved and left."""
    claim, last = own.claim, own.funnel[-1] if own.funnel else None
    left = 0 if last is None else last.rows - last.dropped
    if len(own.programs) + own.without_program != left:
        raise Fault(f"programs: {left} rows were left, not {len(own.programs)} with a program")
    lowest = [step.lowest for step in own.funnel if step.lowest is not None]
    lowest += [program.bound * program.unit_s for program in own.programs]
    lowest += [] if claim.lowest_left is None else [claim.lowest_left]
    least = min([*lowest, claim.objective])
    if claim.bound > least * (1 + SAME):
        raise Fault(f"claim: no more than {least:.12g} is proved, not {claim.bound:.12g}")
    agree("claim", "objective", claim.objective, own.best.step_time_s)
    agree("claim", "gap", 1 + claim.gap, 2 - claim.bound / claim.objective)
    proved = claim.bound >= claim.objective * (1 - _ROUNDING)
    if claim.status == "optimal" and not proved:
        raise Fault("claim: the status is feasible, not optimal")


def _check_program(program: Program, text: str) -> None:
    """Another solver finds no choice below the bound of a program."""
    from ortools.linear_solver.python import model_builder  # noqa: PLC0415  (slow)

    builder: Any = model_builder  # of which not all is typed
    where = f"programs: {program.file}"
    if digest(text) != program.sha256:
        raise Fault(f"{where}: the file is another one (its SHA-256)")
    model, solver = builder.Model(), builder.Solver("scip")
    if not model.import_from_mps_string(text):
        raise Fault(f"{where}: is no MPS file")
    status = solver.solve(model)
    if status not in (builder.SolveStatus.INFEASIBLE, builder.SolveStatus.OPTIMAL):
        raise Fault(f"{where}: SCIP ends with {status}")
    least = _wanted(text)
    if status == builder.SolveStatus.OPTIMAL:
        least = min(least, float(solver.best_objective_bound))
    if least < program.bound * (1 - _ROUNDING) - 1:
        raise Fault(f"{where}: no more than {least:.12g} is proved, not {program.bound}")


def _wanted(text: str) -> float:
    """What only choices below are looked for in a program."""
    start = f" RHS {WANTED} "
    lines = [line for line in text.splitlines() if line.startswith(start)]
    return int(lines[0].removeprefix(start)) + 1 if lines else np.inf


def _check_best(own: StageProof, request: Request) -> None:
    """The best plan obeys the rules and the limits, and has its figures."""
    try:
        plan = plan_of(PlanModel.model_validate(own.best.plan))
    except ValueError as error:
        raise Fault(f"best: is no plan ({str(error).splitlines()[0]})") from error
    for name in _FIXED:
        value, given = getattr(plan, name), request.fix.get(name)
        code = NAMED[name].index(value) if name in NAMED else value
        if given is not None and code not in fixed_values(name, given):
            raise Fault(f"best: {name} {value} is not what the question fixes")
    if kind_of(request) is Kind.POOLS:
        time_s, energy_j = _on_pools(request, plan)
    else:
        time_s, energy_j = _on_one_machine(resolve(request), plan)
    agree("best", "step_time_s", own.best.step_time_s, time_s)
    agree("best", "energy_j", own.best.energy_j, energy_j)


def _on_one_machine(resolved: Resolved, plan: Plan) -> tuple[float, float]:
    """Seconds and joules of a plan that is allowed."""
    model, plans = resolved.cost, PlanTable.from_plans([plan])
    if plan.chips != resolved.chips:
        raise Fault(f"best: the plan is on {plan.chips} chips")
    all_orders = resolved.request.placement == "all"
    lines = violations(model, plans, all_orders=all_orders)
    asked = asked_of_one(resolved)
    if lines and plan.stages is not None:
        raise Fault(f"best: {lines[0]}")
    if not all(asked.fits(plans, memory_table(model, plans))):
        raise Fault("best: the plan does not fit in memory")
    totals = evaluate_totals(model, plans)
    if not asked.within(totals.step_time_s, totals.energy_j, plans.chips)[0]:
        raise Fault("best: the plan breaks a limit on time, power or utilization")
    return float(totals.step_time_s[0]), float(totals.energy_j[0])


def _on_pools(request: Request, plan: Plan) -> tuple[float, float]:
    """Seconds and joules of a plan on pools that is allowed."""
    pooled = resolve_pools(request, ARGUMENTS)
    owner, plans = owners(pooled.pools, plan), PlanTable.from_plans([without_pools(plan)])
    whole = evaluate_stages(pooled.pools, owner, plans)[1]
    for at, each in enumerate(pooled.each):
        table = replace(plans, clock=np.array([each.cost.clock_limit]))
        lines = broken(each.cost, table, arithmetic_only=True)
        if lines:
            raise Fault(f"best: {lines[0][1]}")
        mine, most = owner == at, asked_of_one(each).most_bytes(plans)[0]
        if (whole.memory.total[0, mine] > most).any():
            raise Fault(f"best: a stage does not fit in memory on {pooled.pools[at].name}")
    return float(whole.step.time[0, 0]), float(whole.step.energy[0, 0])
