"""Plans of an answer that was written down, evaluated again and compared with what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.jsonfile import SEAL
from planner.base.messages import Origin, shown
from planner.base.version import SCHEMA_VERSION
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import violations
from planner.plan import Plan, PlanTable
from planner.question.facility import under_limit
from planner.question.files.plan_file import PlanRead, plan_in
from planner.question.files.plan_models import PlanModel
from planner.question.records import located
from planner.question.request import Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.results.parts import Machine
from planner.results.plan import PlanResult, plan_results

_SAME = 1e-9
_MOST = 3
_BEFORE = 20
"""Characters of a long text that are shown before the first one that differs."""
_ADDED = ("energy_per_token_j", "caveats", "runs_in", "wider", "in_time")
"""What follows from other figures or is said of them; answers before it have none of these."""
_EDITED = "it was edited, or a file that it names has changed since"
OF_ANOTHER = "another cost model had this version number, or a file that it names changed"
"""Why what a digest speaks for, under the versions of today, is not what comes out."""


def differences(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> Iterator[str]:
    """Fields of one record in which another, or a part of it, differs, in words."""
    before = not any(name in theirs for name in _ADDED)
    for name, value in mine.items():
        if name not in theirs and not (before and name in _ADDED):
            yield f"{name}: is missing"
        elif name in theirs:
            yield from _differ(name, theirs[name], value)


def _differ(name: str, one: Any, other: Any) -> Iterator[str]:
    """How a field, or what is in it, differs; parts of lists are counted from 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from (f"{name}.{line}" for line in differences(one, other))
        yield from (f"{name}.{more}: is not of this answer" for more in one if more not in other)
    elif _both_rows(one, other) and len(one) == len(other):
        for at, (part, own) in enumerate(zip(one, other, strict=True), start=1):
            yield from _differ(f"{name}.{at}", part, own)
    elif not _same(one, other):
        theirs, mine = _apart(one, other)
        yield f"{name}: the file says {shown(theirs)}, its plan gives {shown(mine)}"


def _both_rows(one: Any, other: Any) -> bool:
    """Whether both are lists; what was not written down yet may be a tuple."""
    return isinstance(one, list | tuple) and isinstance(other, list | tuple)


def _apart(one: Any, other: Any) -> tuple[Any, Any]:
    """Two values as they are shown: of long texts that begin alike what is near the difference."""
    if not isinstance(one, str) or not isinstance(other, str):
        return one, other
    pairs = enumerate(zip(one, other, strict=False))
    alike = next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
    start = alike - _BEFORE
    if start <= _BEFORE:
        return one, other
    return f"...{one[start:]}", f"...{other[start:]}"


def _same(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    if numbers and not isinstance(one, bool) and not isinstance(other, bool):
        return math.isclose(one, other, rel_tol=_SAME, abs_tol=1e-12)
    return bool(one == other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rereading:
    """The plans of one file.

    Attributes:
        name: What messages call the file.
        path: Where it is: files that its jobs name lie beside it.
        within: What the names of its question's parts begin with.
        sealed: Whether its digest speaks for it.
    """

    name: str
    path: Path
    within: str = ""
    sealed: bool = False
    _jobs: dict[str, Resolved] = field(default_factory=dict, repr=False)

    def read(self, record: Mapping[str, Any], job: Mapping[str, Any], where: str) -> PlanRead:
        """The plan in a record of an answer.

        Raises:
            InputError: It is not one; one line per mistake.
        """
        point = {
            name: record[name] for name in (*PlanModel.model_fields, "chips") if name in record
        }
        point |= {"schema_version": SCHEMA_VERSION, "job": record_job(record, job)}
        return plan_in(point, self.path, f"{self.name}: {where}", row=1)

    def plan_of(self, fields: Mapping[str, Any], job: Mapping[str, Any], where: str) -> Plan:
        """A plan that is written as in a plan file.

        Raises:
            InputError: It is not one; one line per mistake.
        """
        content = {"schema_version": SCHEMA_VERSION, "job": job, "plan": fields}
        return plan_in(content, self.path, f"{self.name}: {where}").plan

    def origin(self, section: str) -> Origin:
        """Where the fields of a part of the question come from, for messages."""
        return Origin(file=self.name, section=f"{self.within}{section}.")

    def request(self, asked: Mapping[str, Any]) -> Request:
        """The question that was asked.

        Raises:
            InputError: It cannot be; one line per mistake.
        """
        return request_from(located(dict(asked), self.path), self.origin("asked"))

    def resolve(self, read: PlanRead) -> Resolved:
        """The job of a plan; each job is looked up once."""
        key = f"{read.plan.chips} {read.request.model_dump_json()}"
        if key not in self._jobs:
            self._jobs[key] = resolve(read.request, self.origin("plan_job"), read.plan.chips)
        return self._jobs[key]

    def costed(
        self, records: Sequence[tuple[Mapping[str, Any], str]], job: Mapping[str, Any]
    ) -> tuple[list[PlanResult], list[PlanRead]]:
        """Plans with their costs, evaluated again: those of one machine in one table.

        Args:
            records: Plans as an answer has them, with what messages call them.
            job: The job of those that have none of their own.

        Raises:
            InputError: A plan cannot be evaluated, or does not cost what its record says.
        """
        reads = [self.read(record, job, where) for record, where in records]
        rows_of: dict[str, list[int]] = {}
        for row, read in enumerate(reads):
            rows_of.setdefault(read.request.model_dump_json(), []).append(row)
        found: dict[int, PlanResult] = {}
        for rows in rows_of.values():
            for model, own in self._by_job([reads[row] for row in rows]):
                there = [rows[at] for at in own]
                results = self._results(model, [reads[row] for row in there])
                found |= zip(there, results, strict=True)
        costed = []
        lines: list[str] = []
        for row, (record, where) in enumerate(records):
            result = with_machine(found[row], record, reads[row], f"{self.name}: {where}")
            lines += [f"{where}.{line}" for line in differences(record, result.to_dict())][:1]
            costed.append(result)
        self._refuse_figures(lines)
        return costed, reads

    def _by_job(self, reads: Sequence[PlanRead]) -> Iterator[tuple[CostModel, list[int]]]:
        """Positions of plans of one question by cost model: each count may have its own job."""
        first = self.resolve(reads[0]).cost
        models = {chips: first.on(chips) for chips in dict.fromkeys(r.plan.chips for r in reads)}
        for model in {id(model): model for model in models.values()}.values():
            yield model, [at for at, r in enumerate(reads) if models[r.plan.chips] is model]

    def _results(self, model: CostModel, reads: Sequence[PlanRead]) -> list[PlanResult]:
        table = PlanTable.from_plans([under_limit(read.plan, model.clock_limit) for read in reads])
        if broken := violations(model, table, arithmetic_only=True):
            raise InputError("\n".join(f"{self.name}: {line}" for line in broken))
        for chips in {read.plan.chips for read in reads}:
            model.allocation(chips)
        return plan_results(model, table, evaluate_table(model, table))

    def compare(self, theirs: Mapping[str, Any], mine: Mapping[str, Any], prefix: str) -> None:
        """Refuses a record whose figures are not those that were found again.

        Raises:
            InputError: They differ.
        """
        said = {name: value for name, value in mine.items() if name != SEAL}
        self._refuse_figures([f"{prefix}{line}" for line in differences(theirs, said)])

    def _refuse_figures(self, lines: Sequence[str]) -> None:
        """As `refuse`, of what is not what comes out again."""
        self.refuse(lines, OF_ANOTHER if self.sealed else _EDITED)

    def refuse(self, lines: Sequence[str], why: str = _EDITED) -> None:
        """Refuses the file for what is wrong with it, if anything is; `why`: how that may be.

        Raises:
            InputError: With the first few lines.
        """
        if lines:
            more = [f"and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
            shown_lines = [*lines[:_MOST], *more]
            raise InputError(
                "\n".join(f"{self.name}: {line}; {why}; solve again" for line in shown_lines)
            )


def record_job(record: Mapping[str, Any], job: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job of a plan: its own where its machine is, else that of the answer."""
    own = record.get("job")
    return own if isinstance(own, dict) and isinstance(record.get("machine"), dict) else job


def with_machine(
    result: PlanResult, record: Mapping[str, Any], read: PlanRead, where: str
) -> PlanResult:
    """A plan with the machine that its record names, where machines were a decision.

    Raises:
        InputError: The record of the machine is not as solve writes it.
    """
    machine = record.get("machine")
    if machine is None:
        return result
    try:
        known = Machine(**machine, fields=read.request.machine)
    except TypeError as error:
        raise InputError(f"{where}.machine: {shown(machine)} is no machine") from error
    return replace(result, machine=known)
