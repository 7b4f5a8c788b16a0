"""What is kept: answers as one line of JSON per question, printed texts in one file.

`GROUP.jsonl` beside `GROUP.toml` has one line per question: `name` and `steps`, each with the exit
code, the extracted `answer` and the places of its `errors`. `prose.txt` has every text that a
question prints which is no JSON, and every line of standard error, under the question's name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from answering.asking import Outcome
from answering.errors import place_of
from answering.places import extracted
from answering.questions import Question

Kept = dict[str, list[dict[str, Any]]]
PROSE = "prose.txt"
_HEAD = "=== "
# The sentence that says how long a search took is broken into lines as its seconds are long.
_PROVED = re.compile(r"^Proved .*?\.$", re.DOTALL | re.MULTILINE)
# Seconds that a search took.
_SECONDS = re.compile(r"([Pp]roved[^:\n]* in|Found in|proofs,) \d[\d.,]* (us|ms|s|min)\b")


def kept_of(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """What is compared of the outcomes of a question."""
    steps = []
    for one in outcomes:
        step: dict[str, Any] = {"code": one.code}
        if one.document is not None:
            step["answer"] = extracted(one.kind, one.document)
        if places := [place_of(line) for line in one.errors if line.startswith("error: ")]:
            step["errors"] = places
        if one.code < 0:
            step["failure"] = list(one.errors)
        steps.append(step)
    return steps


def prose_of(outcomes: list[Outcome]) -> str:
    """All that the steps of a question print which is no document."""
    texts = [text for one in outcomes for text in (one.text, "\n".join(one.errors)) if text]
    joined = "\n".join(text.rstrip("\n") for text in texts)
    joined = "\n".join(line.rstrip() for line in joined.split("\n"))
    unwrapped = _PROVED.sub(lambda found: found[0].replace("\n", " "), joined)
    return _SECONDS.sub(r"\1 SECONDS", unwrapped)


def read_answers(folder: Path, groups: set[str]) -> Kept:
    """Saved answers by question."""
    found: Kept = {}
    for group in sorted(groups):
        path = folder / f"{group}.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        found.update((entry["name"], entry["steps"]) for entry in map(json.loads, lines))
    return found


def shortened(value: Any) -> Any:
    """A value whose floating-point numbers have the digits that are compared, and two more."""
    if isinstance(value, float):
        return float(f"{value:.14g}")
    if isinstance(value, dict):
        return {name: shortened(part) for name, part in value.items()}
    return [shortened(part) for part in value] if isinstance(value, list) else value


def write_answers(folder: Path, questions: list[Question], answers: Kept) -> None:
    """Writes the answers of whole groups, in the order of the questions."""
    for group in sorted({question.group for question in questions}):
        lines = [
            json.dumps(
                {"name": one.name, "steps": shortened(answers[one.name])},
                separators=(",", ":"), ensure_ascii=False, allow_nan=False,
            )
            for one in questions
            if one.group == group and one.name in answers
        ]  # fmt: skip
        (folder / f"{group}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_prose(folder: Path) -> dict[str, str]:
    """Kept texts by question."""
    path = folder / PROSE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    parts = re.split(rf"^{_HEAD}", text, flags=re.MULTILINE)[1:]
    named = (part.partition("\n") for part in parts)
    return {name: body.removesuffix("\n\n") for name, _, body in named}


def write_prose(folder: Path, questions: list[Question], texts: dict[str, str]) -> None:
    """Writes all texts, in the order of the questions."""
    parts = [f"{_HEAD}{q.name}\n{texts[q.name]}\n\n" for q in questions if texts.get(q.name)]
    (folder / PROSE).write_text("".join(parts), encoding="utf-8")
