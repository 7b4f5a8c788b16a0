"""Flags of the commands that take a plan file or a launch of a framework in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.cli.completing import targets
from planner.cli.field_flags import with_fields
from planner.cli.options import option
from planner.question.asked import WHOLE_RUN

if TYPE_CHECKING:
    from planner.base.messages import Origin
    from planner.frameworks.reading.imported import Imported
    from planner.frameworks.targets import Target
    from planner.plan import Plan
    from planner.question.request import Request
    from planner.results.result import EvaluateResult

_PANEL = "Launches (--from)"


From = Annotated[
    str | None,
    option(
        "The file is a launch of any framework (auto) or: {launches}; - is standard input.",
        _PANEL,
        "--from",
        metavar="FRAMEWORK",
        complete=targets,
    ),
]
Improve = Annotated[
    bool,
    option(
        "Also the nearest better plans of a launch, by one, two and three changes, each with the "
        "diff of its file.",
        _PANEL,
        "--improve",
    ),
]
_SAID = {
    "model": "Its model (default: the one of the database that has its dimensions).",
    "chips": "Chips that it starts on (default: as its launcher says).",
    "seq_len": "Tokens per sequence, where the launch does not say.",
    "batch_tokens": "Tokens per step, where the launch does not say.",
    "fix": (
        "A field of the plan that the launch does not say, or that replaces what it says, e.g. "
        "pp=4 or recompute=full (repeatable)."
    ),
}
with_launch = with_fields(*_SAID, said=_SAID, panel=_PANEL, into="launched")
"""Gives a command the flags about a launch in the place of its parameter `launched`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFlags:
    """What is asked of a launch.

    Attributes:
        source: The framework, None: the file is no launch.
        given: Fields of the question that are given.
    """

    source: str | None
    given: Mapping[str, Any]

    @property
    def job(self) -> dict[str, Any]:
        """Those of the job."""
        return {name: value for name, value in self.given.items() if name != "fix"}

    @property
    def fixes(self) -> dict[str, list[str]]:
        """Fields of the plan, with their values."""
        return dict(self.given.get("fix", {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A job and a plan, from a plan file or from a launch.

    Attributes:
        request, plan, origin, assumed: See `planner.question.files.plan_file.PlanRead`.
        imported: The launch; None: it was a plan file.
        source: What it was asked to be: the framework, or auto.
        file: Its name.
        content: What a plan file holds, which may be a pipe; of a launch nothing.
        flags: The flags that ask the same of it, of those that explain has too.
    """

    request: Request
    plan: Plan
    origin: Origin
    assumed: tuple[tuple[str, str, str], ...]
    imported: Imported | None
    file: str
    content: bytes = b""
    flags: tuple[str, ...] = ()
    source: str = ""

    @property
    def targets(self) -> tuple[Target, ...]:
        """What has to run other plans in the place of the launch: its framework."""
        from planner.frameworks.targets import TARGETS  # noqa: PLC0415  (not for --help)

        return () if self.imported is None else (TARGETS[self.imported.source],)

    def with_launch(self, found: EvaluateResult) -> EvaluateResult:
        """What the plan costs, with what the launch does otherwise and what of it was not read.

        A plan file adds nothing.
        """
        if self.imported is None:
            return found
        lists = ("ignored", "unknown")
        launch = {
            "source": self.imported.source,
            "file": self.file,
            "flags": list(self.flags),
            **{name: [one.to_dict() for one in getattr(self.imported, name)] for name in lists},
        }
        if self.source != self.imported.source:
            launch["asked"] = self.source
        warnings = (*self.imported.warnings, *found.warnings)
        return replace(found, warnings=warnings, launch=launch)


def check_improve(improve: bool, launch: LaunchFlags, *, quiet: bool) -> None:
    """Refuses --improve where there is no launch to improve, or nothing to show it in."""
    if improve and launch.source is None:
        raise InputError(
            "improve: is about launches (--from); planner explain compares a plan with those one "
            "step away"
        )
    if improve and quiet:
        raise InputError("improve: has no effect with --quiet, which prints one line; give one")


def with_improvements(
    result: EvaluateResult, question: Question, launch: LaunchFlags, given: Mapping[str, Any]
) -> EvaluateResult:
    """An answer with the better plans near to the launch."""
    from planner.answers.improved import improved  # noqa: PLC0415  (few ask for it)
    from planner.question.launch import LaunchRead  # noqa: PLC0415  (numpy; not for --help)
    from planner.question.resolved import resolve  # noqa: PLC0415

    assert question.imported is not None
    assert launch.source is not None
    read = LaunchRead(question.request, question.plan, question.origin, question.imported)
    resolved = resolve(question.request, question.origin, question.plan.chips)
    path = Path(question.file)
    found = improved(resolved, read, launch.source, path, given, launch.fixes)
    return replace(result, launch={**result.launch, "improvements": found.to_dict()})


def question_of(
    plan_file: Path, row: int | None, launch: LaunchFlags, asked: dict[str, Any]
) -> Question:
    """The job and the plan in a file.

    Raises:
        InputError: It cannot be read, or flags of launches are given for a plan file; see
            `read_plan_file` and `read_launch`.
    """
    if launch.source is None:
        from planner.question.files.plan_file import read_plan_file  # noqa: PLC0415  (numpy; not for --help)

        if launch.given:
            name = next(iter(launch.given)).replace("_", "-")
            raise InputError(
                f"{name}: is about launches (--from); a plan file says it itself, change it there"
            )
        content = read_bytes(plan_file)
        read = read_plan_file(plan_file, asked, flags=True, row=row, content=content)
        if "set" in asked:
            from planner.question.changes.idle import check_moving  # noqa: PLC0415  (few ask)

            given = {name: value for name, value in asked.items() if name != "set"}
            as_kept = read_plan_file(plan_file, given, flags=True, row=row, content=content).request
            check_moving(read.request, read.origin, as_kept.set, typed_alone=True)
        return Question(**read._asdict(), imported=None, file=str(plan_file), content=content)
    from planner.question.launch import read_launch  # noqa: PLC0415  (numpy; not for --help)

    if row is not None:
        raise InputError("row: a launch is one plan; --row is for fronts")
    job = {**asked, **launch.job}
    found = read_launch(launch.source, plan_file, job, launch.fixes, flags=True)
    assumed = tuple((one.name, one.value, one.reason) for one in found.imported.assumed)
    return Question(
        request=found.request,
        plan=found.plan,
        origin=found.origin,
        assumed=assumed,
        imported=found.imported,
        file=str(plan_file),
        flags=_flags({**launch.job, **asked}, launch.fixes),
        source=launch.source,
    )


def _flags(given: Mapping[str, Any], fixes: Mapping[str, list[str]]) -> tuple[str, ...]:
    """Fields of a job and fixed fields of a plan as words of a command."""
    words: list[str] = []
    for name, value in given.items():
        if name not in WHOLE_RUN:
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{name.replace('_', '-')}", str(one)]
    for name, values in fixes.items():
        words += ["--fix", f"{name}={','.join(values)}"]
    return tuple(words)
