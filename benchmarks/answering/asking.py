"""Asks a question in an empty folder of its own, through the public surface alone."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answering.questions import FILES, Question, Step

_ENVIRONMENT = {"COLUMNS": "120", "LINES": "50", "NO_COLOR": "1", "TERM": "dumb"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step gave.

    Attributes:
        kind: Of the document.
        code: Exit code; of a call that raised, what the command line would return.
        document: Parsed JSON; None: there was none.
        text: What was printed that is no document.
        errors: Lines of standard error.
    """

    kind: str
    code: int
    document: Any
    text: str
    errors: tuple[str, ...]


def ask(question: Question) -> list[Outcome]:
    """The outcomes of all steps; later ones run whatever became of those before."""
    with _folder_of(question) as folder, _environment():
        return [_call(step, folder) if step.call else _run(step, folder) for step in question.steps]


@contextlib.contextmanager
def _folder_of(question: Question) -> Iterator[str]:
    """An empty folder with the files of a question, as the working folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name in question.files:
            shutil.copy(FILES / name, folder)
        for name, text in question.write:
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        try:
            yield f"{Path.cwd()}/"
        finally:
            os.chdir(before)


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(_ENVIRONMENT)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(step: Step, folder: str) -> Outcome:
    """Runs a command line in this process, as the installed script does."""
    from planner.cli.entry import main  # noqa: PLC0415  (after the environment is set)

    out, err = io.StringIO(), io.StringIO()
    before, code = sys.argv, 0
    sys.argv = ["planner", *step.words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except Exception:
        code = -1
        err.write(traceback.format_exc(limit=-1))
    finally:
        sys.argv = before
    if step.redirect:
        Path(step.redirect).write_text(out.getvalue(), encoding="utf-8")
    printed = out.getvalue().replace(folder, "")
    document = _parsed(printed) if "--json" in step.words or step.kind == "schema" else None
    return Outcome(
        kind=step.kind,
        code=code,
        document=document,
        text=printed if document is None else "",
        errors=tuple(err.getvalue().replace(folder, "").splitlines()),
    )


def _parsed(printed: str) -> Any:
    try:
        return json.loads(printed)
    except ValueError:
        return None


def _call(step: Step, folder: str) -> Outcome:
    """Calls a function that `planner` exports."""
    import planner  # noqa: PLC0415

    document, code = None, 0
    errors: tuple[str, ...] = ()
    try:
        answer = getattr(planner, step.call)(*step.args, **dict(step.fields))
        fields = answer.to_dict if hasattr(answer, "to_dict") else answer.to_fields
        document = json.loads(json.dumps(fields()).replace(folder, ""))
    except planner.PlannerError as error:
        code = error.exit_code
        errors = tuple(f"error: {line}" for line in str(error).splitlines())
    except Exception:
        code, errors = -1, tuple(traceback.format_exc(limit=-1).splitlines())
    return Outcome(kind=step.kind, code=code, document=document, text="", errors=errors)
