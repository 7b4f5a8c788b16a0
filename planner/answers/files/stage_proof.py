"""The proof that no plan whose stages may differ is better, and its integer programs: a file."""

from __future__ import annotations

from typing import Any

from planner.answers.api import solve_request
from planner.base.errors import InputError
from planner.base.version import __version__
from planner.frameworks.rules import refused_by
from planner.plan import Plan
from planner.question.files.plan_text import asked_of, plan_fields
from planner.question.request import Request, request_from
from planner.question.resolved import resolve
from planner.results.certificate import Certificate
from planner.results.result import SolveResult
from planner.search.space import Trail
from planner.verification.stages.checking import fingerprints_of
from planner.verification.stages.document import FORMAT, archive, digest, opened


def solved_again(content: bytes, name: str) -> str:
    """How the proof of a question solved once more differs from an archive; empty: it does not.

    Raises:
        InputError: It is no archive, or its question cannot be asked.
    """
    document, _, texts = opened(content, name)
    request, trail = request_from(document["question"]), Trail()
    again = stage_proof(request, trail, solve_request(request, trail=trail))
    own, _, others = opened(again, name)
    if lost := sorted(set(texts) ^ set(others)):
        return f"programs: {lost[0]} is in one of both alone"
    changed = [file for file in sorted(texts) if texts[file] != others[file]]
    if changed:
        return f"programs: {changed[0]} is not the program of its row"
    parts = [part for part in sorted(own) if own[part] != document.get(part)]
    return f"{parts[0]}: is another where the question is solved again" if parts else ""


def _opened(known: Certificate) -> int:
    """Rows that no bound dropped."""
    last = known.funnel[-1] if known.funnel else None
    return 0 if last is None else last.rows - last.dropped


def _check_targets(request: Request, plan: Plan) -> None:
    """Refuses a plan of a space whose targets were lifted, as they run none.

    Raises:
        InputError: It is such a plan.
    """
    if request.pools is not None:
        return
    resolved = resolve(request)
    if refused_by(resolved.cost, plan, resolved.runners.targets):
        raise InputError(
            f"certificate: no plan runs in {resolved.runners.words}, and the answer is of all "
            "plans; ask for these with --runnable-in any"
        )


def stage_proof(request: Request, trail: Trail, result: SolveResult) -> bytes:
    """The archive of an answer.

    Args:
        request: The question.
        trail: Of its search.
        result: The answer.

    Raises:
        InputError: There is no plan, or time ended before there was a bound: nothing is certified.
    """
    from solvers.stages.mps import mps_of  # noqa: PLC0415  (few ask)

    best, known = result.best, result.certificate
    if best is None:
        raise InputError("certificate: an archive is of a plan, and the answer has none")
    if known.bound is None:
        raise InputError("certificate: time ran out before there was anything to certify")
    _check_targets(request, best.plan)
    problems = trail.passes[-1].problems if trail.passes else []
    files = {
        f"programs/{at}.mps": (mps_of(problem.question, f"row{at}"), problem)
        for at, problem in enumerate(problems)
    }
    programs = [
        {"file": name, "sha256": digest(text), "unit_s": one.unit_s, "bound": one.bound}
        for name, (text, one) in files.items()
    ]
    fields: dict[str, Any] = {
        "stages": FORMAT,
        "question": asked_of(request),
        "versions": {"planner": __version__},
        "records": fingerprints_of(request),
        "funnel": [step.to_dict() for step in known.funnel],
        "programs": programs,
        "without_program": _opened(known) - len(programs),
        "best": {
            "plan": plan_fields(best.plan),
            "step_time_s": best.step_time_s,
            "energy_j": best.energy_per_step_j,
        },
        "claim": {
            "status": known.status,
            "objective": known.objective,
            "bound": known.bound,
            "gap": known.gap,
            "left": known.left,
            "lowest_left": known.lowest_left,
        },
    }
    return archive(fields, {name: text for name, (text, _) in files.items()})
