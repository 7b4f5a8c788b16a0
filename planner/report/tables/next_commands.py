"""The commands that go on from an answer: to save it, to launch it, to look further."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress

from frozen_records import dataclass
from planner.answers.exported import target_that_writes
from planner.base.commands import path_word
from planner.base.errors import InputError
from planner.base.frozen import thawed
from planner.question.asked.flags import flags_of
from planner.question.request import Request, request_from
from planner.question.resolved import resolve
from planner.report.tables.launch import next_commands as after_launch
from planner.results.plan import PlanResult
from planner.results.result import EvaluateResult, SolveResult
from planner.search.machines.machines import on_machine

Words = list[str]
_PLAN, _PAGE, _LAUNCH = "plan.yaml", "report.html", "launch"
_WITHOUT = "without"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How a question was asked on the command line, and what the command wrote.

    Attributes:
        file: The job file, or the file of the plan; empty: flags alone say the job.
        flags: Those that ask the same again, beside the file.
        explained: Those of them that `planner explain` takes too.
        plan: The file that holds the plan now; empty: none does.
        row: The flag that says which plan of that file it is.
        question: The job of a plan that was read.
        page: Whether a page about the answer is written.
    """

    file: str = ""
    flags: tuple[str, ...] = ()
    explained: tuple[str, ...] = ()
    plan: str = ""
    row: tuple[str, ...] = ()
    question: Request | None = None
    page: bool = False


def after_solve(result: SolveResult, asking: Asking | None) -> list[Words]:
    """Commands as words: where there is a plan to save, export and explain it, else to find one.

    Args:
        result: The answer.
        asking: How it was asked; None: in Python.
    """
    asked = asking or Asking(flags=tuple(flags_of(result.question.asked)))
    again = ["planner", "solve", *([path_word(asked.file)] if asked.file else [])]
    if result.best is None:
        found = next(_freed(result, asked), None)
        return [] if found is None else [[*again, *found, "-o", _PLAN]]
    pools = bool(result.stages.pools)
    page = [] if asked.page or pools else ["--plot", _PAGE]
    commands: list[Words] = []
    if not asked.plan:
        commands.append([*again, *asked.flags, "-o", _PLAN, *page])
    plan = path_word(asked.plan or _PLAN)
    if target := _target_of(result):
        commands.append(["planner", "export", plan, "--to", target, "-o", _LAUNCH])
    commands.append(["planner", "explain", plan] if not pools else ["planner", "evaluate", plan])
    if asked.plan and page:
        commands.append(["planner", "evaluate", plan, *page])
    return commands


def after_evaluate(result: EvaluateResult, asking: Asking | None) -> list[Words]:
    """Commands as words; nothing where the plan was given in Python, which no command can name."""
    if result.launch:
        return [shlex.split(line) for line in after_launch(result)]
    if asking is None:
        return []
    commands: list[Words] = []
    if asking.plan and (target := _target(asking.question, result.result)):
        plan = [path_word(asking.plan), *asking.row]
        commands.append(["planner", "export", *plan, "--to", target, "-o", _LAUNCH])
    if result.pools:
        return commands
    file = path_word(asking.file)
    commands.append(["planner", "explain", file, *asking.explained])
    if not asking.page:
        commands.append(["planner", "evaluate", file, *asking.flags, "--plot", _PAGE])
    return commands


def _target_of(result: SolveResult) -> str:
    """What the best plan of an answer is exported to: nothing, where it says that nothing is."""
    if result.notes.runs_in:
        return result.notes.runs_in[0]
    if result.question.asked.get("runnable_in") is None:
        return ""
    with suppress(InputError):  # a file of the question is gone
        return _target(request_from(thawed(result.question.asked)), result.best)
    return ""


def _target(request: Request | None, best: PlanResult | None) -> str:
    """What a plan is exported to; empty: nothing that is asked for runs it as it is."""
    if request is None or best is None or request.pools is not None:
        return ""
    with suppress(InputError):  # a file of the question is gone
        resolved = resolve(on_machine(request, best.machine), chips=best.chips)
        return target_that_writes(resolved, best.plan)
    return ""


def _freed(result: SolveResult, asked: Asking) -> Iterator[Words]:
    """The flags with one of the changes that make a plan possible."""
    if result.diagnosis is None:
        limit = "--time-limit"
        if limit in asked.flags:
            yield _dropped(asked.flags, limit)
        return
    for remedy in result.diagnosis.remedies:
        words = shlex.split(remedy.partition(" (")[0])
        if words[0] != _WITHOUT:
            yield _changed(asked.flags, words)
        elif not asked.file:  # what a file says cannot be taken back by a flag
            yield _dropped(asked.flags, words[1], words[2] if len(words) > 2 else "")


def _changed(flags: Sequence[str], words: Sequence[str]) -> Words:
    """Flags with other values for those that a change names."""
    kept = [*flags]
    for name in (word for word in words if word.startswith("--")):
        others = ("--chips", "--chips-at-most") if name == "--chips" else (name,)
        for other in others:
            kept = _dropped(kept, other)
    return [*kept, *words]


def _dropped(flags: Sequence[str], name: str, value: str = "") -> Words:
    """Flags without those of a name; of `--fix` without that of the same field."""
    kept: Words = []
    skipped = False
    field = value.partition("=")[0]
    for at, word in enumerate(flags):
        if word.startswith("--"):
            after = flags[at + 1] if at + 1 < len(flags) else ""
            same = name != "--fix" or after.partition("=")[0] == field
            skipped = word == name and same
        if not skipped:
            kept.append(word)
    return kept
