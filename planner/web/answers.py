"""Answers for a page: questions as texts in, parts of HTML and files out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.base.errors import InputError, PlannerError
from planner.base.frozen import thawed
from planner.base.messages import clipped, shortened
from planner.frameworks.registry import TARGETS
from planner.question.asked import BY_NAME, Asked
from planner.question.asked.flags import field_in, flags_of
from planner.question.request import request_from
from planner.web.form import OTHER_PAGES

if TYPE_CHECKING:
    from planner.base.progress import Progress
    from planner.question.resolved import Resolved
    from planner.results.plan import PlanResult
    from planner.results.result import SolveResult

_KEPT = 8  # answers whose pages and files can be asked for
_WITHOUT = {
    "ortools": "uneven stages, pools and synthesized collectives take OR-Tools",
    "networkx": "this network takes NetworkX",
}
"""What is not in a browser, by the package that it needs."""


class Answers:
    """The answers of one visit: a question is asked, then its page or its files.

    Args:
        folder: Where texts of files that a question brings are written.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._kept: dict[int, SolveResult] = {}
        self._last = 0

    def ask(self, texts: Mapping[str, Any], on_progress: Progress | None = None) -> dict[str, Any]:
        """The answer of a question.

        Args:
            texts: Fields by name as people write them; empty ones say nothing.
            on_progress: Called with (what, done, of) while the search runs.

        Returns:
            `command`, the same on a command line (empty: none can be written), and one of:
            `errors`, a line each; `lacks`, the package that a browser does not have, with
            `reason`; or `answer`, a number for `page` and `files`, with `html`, `status`, `plans`
            (of the front), `best` (which of them) and `targets`. `pasted` are the files that the
            command reads, by name.
        """
        try:
            fields = fields_in(texts, self._folder)
        except PlannerError as error:
            return {"command": "", "pasted": {}, "errors": _lines(error)}
        told = {"command": _command(fields, self._folder), "pasted": _pasted(texts)}
        return told | self._named(lambda: self._answered(fields, on_progress))

    def _named(self, answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """An answer, or why there is none, with files named as the command names them."""
        found = _tried(answer)
        if "errors" in found:
            found["errors"] = [line.replace(f"{self._folder}/", "") for line in found["errors"]]
        return found

    def page(self, answer: int) -> dict[str, Any]:
        """The page of `planner report` about an answer of `ask`: `page`, or as there `errors`."""
        return _tried(lambda: {"page": _page(self._of(answer))})

    def files(
        self, answer: int, row: int, target: str, launcher: str = "", *, lossy: bool = False
    ) -> dict[str, Any]:
        """A plan of the front in the words of a target: `files` by name, or as there `errors`.

        Args:
            answer: Of `ask`.
            row: Of the front, from 1.
            target, launcher: As `planner export` takes them.
            lossy: Also what runs another plan than this one.
        """
        return _tried(lambda: _files(self._of(answer), row, target, launcher, lossy=lossy))

    def document(self, answer: int) -> dict[str, Any]:
        """What `planner solve --json` prints: `json`, for `planner report` and `compare`."""
        return {"json": json.dumps(self._of(answer).to_dict(), indent=2, allow_nan=False)}

    def _of(self, answer: int) -> SolveResult:
        if answer not in self._kept:
            raise InputError("answer: it is not kept any more; ask the question again")
        return self._kept[answer]

    def _answered(self, fields: dict[str, Any], on_progress: Progress | None) -> dict[str, Any]:
        from planner.answers.api import solve_request  # noqa: PLC0415  (numpy; the form is there first)
        from planner.report.pages.notebook import solve_html  # noqa: PLC0415

        for name in fields:
            if name in OTHER_PAGES:
                raise InputError(f"{name}: this page does not ask it; the command line does")
        result = solve_request(request_from(fields), on_progress)
        self._last += 1
        self._kept[self._last] = result
        for number in [*self._kept][:-_KEPT]:
            del self._kept[number]
        return {
            "answer": self._last,
            "status": result.status,
            "html": solve_html(result),
            "plans": len(result.front),
            "best": _best_row(result),
            "targets": _targets(result),
        }


def fields_in(texts: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Fields of a question from what a form or an address says; what is empty is left out.

    Args:
        texts: By name. A path may be the text of a file, which is then written: YAML, or JSON.
        folder: Where such files are written; paths are named from there.
    """
    fields: dict[str, Any] = {}
    for name, text in texts.items():
        given = text.strip() if isinstance(text, str) else text
        if given in ("", None, []):
            continue
        field = BY_NAME.get(name)
        if field is None:
            fields[name] = given
        elif file := _file_of(field, given):
            # As it is: YAML counts the first spaces.
            (folder / file).write_text(text, encoding="utf-8")
            fields[name] = str(folder / file)
        else:
            fields[name] = _read(field, given)
    return fields


def _file_of(field: Asked, given: Any) -> str:
    """The name of the file whose text a field has; empty: it has none."""
    if field.kind != "path" or not ("\n" in given or given.startswith("{")):
        return ""
    return f"{field.name}{'.json' if given.startswith('{') else '.yaml'}"


def _read(field: Asked, given: Any) -> Any:
    if field.kind == "switch":
        return {"true": True, "false": False}.get(str(given).lower(), given)
    if field.kind in ("texts", "changes", "choices"):
        lines = given.splitlines() if isinstance(given, str) else given
        return field_in(field, [line.strip() for line in lines if line.strip()])
    return field_in(field, given)


def _pasted(texts: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the files that a command with these fields reads, by their names."""
    files = {
        _file_of(BY_NAME[name], text.strip()): text
        for name, text in texts.items()
        if name in BY_NAME and isinstance(text, str)
    }
    return {file: text for file, text in files.items() if file}


def _command(fields: Mapping[str, Any], folder: Path) -> str:
    """The same question on a command line, where files lie in the folder that it is typed in.

    Empty where a field cannot be written as a flag; what is wrong with it, its answer says.
    """
    try:
        words = [word.removeprefix(f"{folder}/") for word in flags_of(fields)]
    except ValueError:
        return ""
    return shlex.join(["planner", "solve", *words])


def _tried(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """An answer, or why there is none."""
    try:
        return answer()
    except PlannerError as error:
        return {"errors": _lines(error)}
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        return {"lacks": name, "reason": _WITHOUT.get(name, f"this question takes {name}")}


def _lines(error: PlannerError) -> list[str]:
    """A line for each mistake, of no more characters than the command line prints."""
    return [clipped(shortened(line)) for line in str(error).splitlines()]


def _page(result: SolveResult) -> str:
    from planner.report.about import page_about  # noqa: PLC0415  (asked for after the answer)

    if result.best is None:
        return page_about(result, None, None)
    return page_about(result, result.best, _resolved(result, result.best))


def _resolved(result: SolveResult, plan: PlanResult) -> Resolved:
    from planner.question.resolved import resolve  # noqa: PLC0415  (numpy; the form is there first)
    from planner.search.machines.machines import on_machine  # noqa: PLC0415

    request = request_from(thawed(result.question.asked))
    return resolve(on_machine(request, plan.machine), chips=plan.chips)


def _best_row(result: SolveResult) -> int:
    """Which plan of the front is the best, from 1; 0: none is."""
    from planner.results.words import is_best  # noqa: PLC0415  (numpy)

    rows = (row for row, point in enumerate(result.front, start=1) if is_best(point, result))
    return next(rows, 0)


def _targets(result: SolveResult) -> list[str]:
    """What the plan can be written for, those first that run it as it is."""
    runs = result.notes.runs_in
    return [*runs, *(name for name in TARGETS if name not in runs)]


def _files(
    result: SolveResult, row: int, target: str, launcher: str, *, lossy: bool
) -> dict[str, Any]:
    from planner.answers.exported import export_result  # noqa: PLC0415  (asked for after the answer)

    plans = list(result.front) or [one for one in (result.best,) if one is not None]
    if not 1 <= row <= len(plans):
        raise InputError(f"row: the front has no plan {row}; it has {len(plans)}")
    written = export_result(plans[row - 1], target, launcher=launcher, allow_lossy=lossy).to_dict()
    return {
        name: written[name] for name in ("files", "command", "environment", "lossy", "warnings")
    }
