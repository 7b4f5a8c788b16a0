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
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.question.kinds.kind import Kind, kind_of
from planner.question.kinds.uneven import is_fastest_alone
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, Request
from planner.question.resolved import resolve
from planner.verification.asked import asked_of_one, fingerprints, request_in
from planner.verification.case import agree
from planner.verification.checking import TRUSTED, Verdict
from planner.verification.document import seal
from planner.verification.faults import Fault
from planner.verification.stages.best import on_one_machine, on_pools
from planner.verification.stages.document import Program, StageProof, digest, opened
from planner.verification.stages.funnel import ROUNDING, Listed, check_claim, check_funnel
from planner.verification.stages.listing import MachineSpace, PoolSpace

STAGES_TRUSTED = (
    *TRUSTED,
    "the bounds that drop rows (LB0, LB1, LB2, of power), whose counts and least values are shown",
    "the least bound of rows that are left, where any are, unless time ended the search at LB0 and "
    "not on a torus: there it is computed again",
    "that the program of a row holds every plan of it that is wanted, in whole numbers that are "
    "rounded down, how many rows a row of LB0 becomes, and that rows without a program have no "
    "better plan; --every solves the question again and compares all",
    "SCIP, or whatever solver reads the MPS files",
)
WANTED = "wanted"
"""Row of a program that keeps its objective below a value (`solvers.stages.mps`)."""


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
            f"{own.question.get('model')}: step time {claim.objective:.6g} s, and no plan that is "
            f"asked for, whose stages may differ, is below {claim.bound:.6g} s"
        ),
        question=own.question,
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
    request = request_in(own.question)
    if why := not_covered(request):
        raise Fault(f"question: {why}")
    if own.records != fingerprints_of(request):
        raise Fault("records: those here are not those of the certificate (SHA-256)")
    check_funnel(own, _check_best(own, request))
    if sorted(texts) != sorted(program.file for program in own.programs):
        raise Fault("programs: the files of the archive are not those that are listed")
    least = [_check_program(program, texts[program.file]) for program in own.programs]
    slowest = own.best.step_time_s * (1 + ROUNDING)
    if own.best.plan.get("stages") and min(least, default=np.inf) > slowest:
        raise Fault("programs: none has a choice as fast as the best plan, whose stages differ")
    checked["programs solved by SCIP"] = len(own.programs)
    checked["rows without a program"] = own.without_program
    checked["rows dropped by bounds"] = sum(step.dropped for step in own.funnel)
    check_claim(own, request.gap or 0.0)


def _check_program(program: Program, text: str) -> float:
    """Another solver finds no choice below the bound of a program; seconds of the one it finds."""
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
    if least < program.bound * (1 - ROUNDING) - 1:
        raise Fault(f"{where}: no more than {least:.12g} is proved, not {program.bound}")
    if status != builder.SolveStatus.OPTIMAL:
        return np.inf
    return float(solver.objective_value) * program.unit_s


def _wanted(text: str) -> float:
    """What only choices below are looked for in a program."""
    start = f" RHS {WANTED} "
    lines = [line for line in text.splitlines() if line.startswith(start)]
    return float(lines[0].removeprefix(start)) + 1 if lines else np.inf


def _check_best(own: StageProof, request: Request) -> Listed:
    """The best plan is allowed, and has its figures; what is declared beside it."""
    try:
        plan = plan_of(PlanModel.model_validate(own.best.plan))
    except ValueError as error:
        raise Fault(f"best: is no plan ({str(error).splitlines()[0]})") from error
    space: PoolSpace | MachineSpace
    if kind_of(request) is Kind.POOLS:
        pooled = resolve_pools(request, ARGUMENTS)
        first = replace(asked_of_one(pooled.each[0]), request=request, chips=(pooled.chips,))
        space = PoolSpace(first, pooled.pools)
        time_s, energy_j = on_pools(pooled, space, plan)
    else:
        resolved = resolve(request)
        space = MachineSpace(asked_of_one(resolved, resolved.runners.targets))
        time_s, energy_j = on_one_machine(resolved, space, plan)
    agree("best", "step_time_s", own.best.step_time_s, time_s)
    agree("best", "energy_j", own.best.energy_j, energy_j)
    return space.first_step()
