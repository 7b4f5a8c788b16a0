"""Answers as `--json` prints them, read back: checked, and every plan evaluated again.

A file is taken at its word only where this planner comes to the same figures: versions and hashes
of the databases must be those of this installation, and each plan must evaluate to the costs that
the file gives. What comes back is the answer as `planner.solve` or `planner.evaluate` return it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from planner.answers import Diagnosis, MachineSearch, Spread, TrainingRun
from planner.api import evaluate_plan, limits_of
from planner.errors import InputError
from planner.files import LARGEST_FILE_BYTES, read_bytes
from planner.jsonfile import json_object
from planner.kinds import with_command
from planner.messages import mistakes, shown
from planner.provenance import job_fields, versions
from planner.rereading import Rereading, differences
from planner.resolved import Resolved
from planner.results import EvaluateResult, Neighbor, PlanResult, RankedPlan, SolveResult
from planner.stage_facts import PlanFacts, plan_facts

Kind = Literal["solve", "front", "evaluate"]
_STDIN = Path("-")
_OF_SOLVE = frozenset({"status", "front", "best", "plan_job"})
_OF_FRONT = frozenset({"objectives", "complete", "front", "plan_job"})
_OF_EVALUATE = frozenset({"breakdown", "fits", "mesh"})
_VALUE_OF = {
    "time": lambda best: best.step_time_s,
    "energy": lambda best: best.energy_per_step_j,
    "edp": lambda best: best.step_time_s * best.energy_per_step_j,
    "memory": lambda best: best.memory_per_chip_bytes,
}


class _Loose(BaseModel):
    """Fields that other versions of a document may have beside these are of no concern."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class _Default(_Loose):
    name: str
    value: str
    reason: str


class _Neighbor(_Loose):
    change: str
    verdict: str
    tie: bool | None


class _Known(_Loose):
    """What every answer has."""

    job: dict[str, Any]
    plan_job: dict[str, Any]
    versions: dict[str, str]


class _Solved(_Known):
    """What `planner solve --json` prints beside its plans."""

    status: Literal["optimal", "feasible", "infeasible", "time_limit"]
    objective_name: Literal["time", "energy", "edp", "memory"]
    objective: float | None
    bound: float | None
    gap: float | None
    best: dict[str, Any] | None
    front: list[dict[str, Any]]
    front_objectives: tuple[Literal["time", "energy", "memory"], ...]
    front_complete: bool
    front_note: str
    top: list[dict[str, Any]]
    top_complete: bool
    interval: Spread | None
    why: tuple[str, ...]
    neighbors: list[_Neighbor]
    training_run: TrainingRun | None
    diagnosis: Diagnosis | None
    losses: tuple[str, ...]
    defaults: list[_Default]
    counts: dict[str, dict[str, int]]
    front_counts: dict[str, dict[str, int]]
    seconds: FiniteFloat
    mfu_convention: str
    machines: tuple[MachineSearch, ...]
    sources: dict[str, str]


class _Front(_Known):
    """What `planner solve --pareto front.json` writes beside its plans."""

    objectives: tuple[Literal["time", "energy", "memory"], ...]
    complete: bool
    note: str
    front: list[dict[str, Any]] = Field(min_length=1)


class _Evaluated(_Known):
    """What `planner evaluate --json` prints beside its plan."""

    defaults: list[_Default]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """An answer that was read back.

    Attributes:
        kind: Which command gave it: solve, evaluate, or a front of solve.
        answer: The answer; of a front without a best plan.
        plan: The plan that details are about: the best one, the one that was evaluated, or of a
            front the fastest; None where no plan was found.
        resolved: Its job.
    """

    kind: Kind
    answer: SolveResult | EvaluateResult
    plan: PlanResult | None
    resolved: Resolved | None


def read_result(path: Path) -> ResultFile:
    """An answer of `planner solve`, its front or of `planner evaluate`; `-`: standard input.

    Raises:
        InputError: It cannot be read, is no such answer or one of another version, or its plans
            do not cost what it says; one line per mistake.
    """
    name = "standard input" if path == _STDIN else str(path)
    content = _standard_input() if path == _STDIN else read_bytes(path)
    data, text = json_object(content, name)
    kind = _kind_of(data, name)
    _check_versions(data, name)
    reading = Rereading(name=name, path=path)
    if kind == "evaluate":
        return _evaluated(data, _validated(_Evaluated, text, name), reading)
    if kind == "front":
        return _front(data, _validated(_Front, text, name), reading)
    return _solved(_validated(_Solved, text, name), reading)


def _standard_input() -> bytes:
    """What another program sends.

    Raises:
        InputError: There is no standard input, or it cannot be read.
    """
    if sys.stdin is None:
        raise InputError("standard input: is closed; name a file")
    content = sys.stdin.buffer.read(LARGEST_FILE_BYTES + 1)
    if len(content) > LARGEST_FILE_BYTES:
        raise InputError(f"standard input: larger than {LARGEST_FILE_BYTES // 2**20} MiB")
    return content


def _kind_of(data: Mapping[str, Any], name: str) -> Kind:
    """Which answer a document is.

    Raises:
        InputError: None that is known.
    """
    if data.keys() >= _OF_EVALUATE:
        return "evaluate"
    if data.keys() >= _OF_FRONT:
        return "front"
    if data.keys() >= _OF_SOLVE:
        return "solve"
    wanted = "what planner solve --json, planner evaluate --json or solve --pareto front.json write"
    other = with_command(data, "an answer", "front", "evaluation")
    raise InputError(f"{name}: {other or 'is no answer of this planner'}; a report needs {wanted}")


def _check_versions(data: Mapping[str, Any], name: str) -> None:
    """Refuses an answer that this installation would not give.

    Raises:
        InputError: One line per difference.
    """
    here, there = versions(), data.get("versions")
    if not isinstance(there, dict):
        raise InputError(f"{name}: versions: is missing, so nothing says which planner wrote it")
    again = "solve again with this one"
    given = str(data.get("schema_version", "missing"))
    found = {**there, "schema": given}
    words = {
        "planner": "was written by planner {0}, this is planner {1}",
        "schema": "schema_version is {0}, this planner reads version {1}",
        "hardware_db": "the hardware database has changed since (hash {0} then, {1} now)",
        "models_db": "the model database has changed since (hash {0} then, {1} now)",
    }
    lines = [
        f"{name}: {words[key].format(_plain(found.get(key, 'unknown')), mine)}; {again}"
        for key, mine in here.items()
        if found.get(key) != mine
    ]
    if lines:
        raise InputError("\n".join(lines))


def _plain(value: object) -> str:
    """A version without quotes, whatever the file holds."""
    return value if isinstance(value, str) and value.isalnum() else shown(value).strip("'")


def _validated(model: type[Any], text: str, name: str) -> Any:
    """The fields of a document.

    Raises:
        InputError: Some are missing or of the wrong kind.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:

        def label(steps: Any) -> str:
            return f"{name}: {'.'.join(map(str, steps))}"

        raise InputError("\n".join(mistakes(error, label, model.model_fields))) from error


def _named(defaults: list[_Default]) -> tuple[tuple[str, str, str], ...]:
    return tuple((one.name, one.value, one.reason) for one in defaults)


def _evaluated(data: Mapping[str, Any], file: _Evaluated, reading: Rereading) -> ResultFile:
    """The answer of `planner evaluate`, computed again."""
    read = reading.read(data, file.plan_job, "the plan")
    resolved = reading.resolve(read)
    answer = evaluate_plan(resolved, read.plan)
    answer = replace(answer, defaults=_named(file.defaults))
    reading.compare(data, answer.to_dict(), "")
    return ResultFile(kind="evaluate", answer=answer, plan=answer.result, resolved=resolved)


def _front(data: Mapping[str, Any], file: _Front, reading: Rereading) -> ResultFile:
    """A front as `solve --pareto front.json` writes it."""
    points, reads = reading.costed([(point, f"front.{n}") for n, point in _numbered(file.front)],
                                   file.plan_job)  # fmt: skip
    resolved = reading.resolve(reads[0])
    _check_job(file.job, resolved, reading)
    answer = SolveResult(
        status="front", objective_name="", objective=None, bound=None, gap=None, best=None,
        front=tuple(points), front_objectives=file.objectives, front_complete=file.complete,
        front_note=file.note, why=(), neighbors=(), run=None, diagnosis=None, losses=(),
        defaults=(), counts={}, seconds=0.0, job=file.job, versions=file.versions,
        plan_job=file.plan_job, sources=reading.sources(resolved), spread=reading.spread(resolved),
        facts=_facts(resolved, points[0]),
    )  # fmt: skip
    return ResultFile(kind="front", answer=answer, plan=points[0], resolved=resolved)


def _numbered(points: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(points, start=1))


def _solved(file: _Solved, reading: Rereading) -> ResultFile:
    """The answer of `planner solve`."""
    found = file.best is not None
    if found != (file.status in ("optimal", "feasible")):
        word = "a best plan" if found else "no best plan"
        raise InputError(f"{reading.name}: status: {file.status!r} contradicts {word}")
    asked = [(file.best, "best")] if file.best is not None else []
    asked += [(point, f"front.{number}") for number, point in _numbered(file.front)]
    asked += [(plan, f"top.{number}") for number, plan in _numbered(file.top)]
    costed, reads = reading.costed(asked, file.plan_job)
    best, rest = (costed[0], costed[1:]) if found else (None, costed)
    resolved = reading.resolve(reads[0]) if reads else None
    front, ranked = rest[: len(file.front)], rest[len(file.front) :]
    answer = _answer(file, best, front, ranked)
    if resolved is not None and best is not None:
        _check_job(file.job, resolved, reading)
        _check_proof(file, best, reading.name)
        facts = _facts(resolved, best)
        reading.compare(file.best or {}, facts.to_dict(), "best.")
        answer = replace(answer, facts=facts)
    return ResultFile(kind="solve", answer=answer, plan=best, resolved=resolved)


def _facts(resolved: Resolved, plan: PlanResult) -> PlanFacts:
    """The stages and levels of a plan."""
    limit = limits_of(resolved.request).chip_bytes(resolved.cost)
    return plan_facts(resolved.cost, plan.plan, limit)


def _answer(
    file: _Solved, best: PlanResult | None, front: list[PlanResult], ranked: list[PlanResult]
) -> SolveResult:
    """The answer with the plans that were evaluated again."""
    same = (
        "status", "objective_name", "objective", "bound", "gap", "front_objectives",
        "front_complete", "front_note", "top_complete", "why", "diagnosis", "losses", "counts",
        "front_counts", "seconds", "mfu_convention", "machines", "sources", "job", "plan_job",
        "versions",
    )  # fmt: skip
    return SolveResult(
        **{name: getattr(file, name) for name in same},
        best=best,
        front=tuple(best if best == point and best is not None else point for point in front),
        top=tuple(
            RankedPlan(result=plan, difference=float(row["difference"]), tie=row["tie"])
            for plan, row in zip(ranked, file.top, strict=True)
        ),
        spread=file.interval,
        run=file.training_run,
        defaults=_named(file.defaults),
        neighbors=tuple(
            Neighbor(change=one.change, result=None, verdict=one.verdict, tie=one.tie)
            for one in file.neighbors
        ),
    )


def _check_job(job: Mapping[str, Any], resolved: Resolved, reading: Rereading) -> None:
    """Refuses a job that is not the one that its plans are evaluated for."""
    reading.compare(job, {**job_fields(resolved), "chips": job.get("chips")}, "job.")


def _check_proof(file: _Solved, best: PlanResult, name: str) -> None:
    """Refuses an objective, a bound and a gap that contradict the best plan or one another.

    Raises:
        InputError: One line per contradiction.
    """
    value, bound = float(_VALUE_OF[file.objective_name](best)), file.bound
    if bound is None:
        raise InputError(f"{name}: bound: is missing beside a best plan")
    gap = (value - bound) / value if value > 0 else 0.0
    told = {"objective": file.objective, "gap": file.gap}
    lines = list(differences(told, {"objective": value, "gap": gap}))
    if bound > value * (1 + 1e-9):
        lines = [f"bound: {bound:g} is above the objective, {value:g}"]
    elif file.status == "optimal" and gap > 1e-6:
        lines = [f"status: 'optimal' contradicts a gap of {gap:.3g}"]
    if lines:
        raise InputError("\n".join(f"{name}: {line}" for line in lines))
