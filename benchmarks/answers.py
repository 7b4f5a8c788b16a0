"""Asks every kept question, and saves the answers or compares them with the saved ones.

The net under a change that must not change answers: questions through the public Python functions
and the command line, declared in `tests/answers/*.toml`, their answers beside them.

  python benchmarks/answers.py compare                 one line per difference; exit status 1
  python benchmarks/answers.py compare --prose         printed texts and messages, byte by byte
  python benchmarks/answers.py save --only 'rack/*'    accept the answers of some questions
  python benchmarks/answers.py save --prose            accept the printed texts

Compared, floating-point numbers to 1e-12 relative: status, objective, the best plan (or another of
equal objective, which is listed), its cost, values of the front, kind and binding limit of
infeasibility, exit code, file, line and field of an error; of other documents all but what
`answering.places.NOT_COMPARED` names. Not compared: counts of nodes and candidates, seconds, prose.

`--checkout PATH` asks another checkout of the project.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import measuring
from answering.comparing import Comparison, Difference, prose_differences
from answering.kept import (
    Kept,
    kept_of,
    prose_of,
    read_answers,
    read_prose,
    write_answers,
    write_prose,
)
from answering.processes import ask_all
from answering.questions import ANSWERS, ROOT, Question, read_questions


def answered(
    questions: list[Question], options: argparse.Namespace
) -> Iterator[tuple[Question, list[dict[str, object]], str]]:
    """Each question with what is kept of its answer and its printed texts; tells how far it is."""
    spent = 0.0
    for done, (question, outcomes, seconds) in enumerate(
        ask_all(questions, options.jobs, options.limit), start=1
    ):
        spent += seconds
        if not options.quiet:
            codes = ",".join(str(one.code) for one in outcomes)
            print(
                f"[{done}/{len(questions)}] {question.name}: exit {codes}, {seconds:.1f} CPU s",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        yield question, kept_of(outcomes), prose_of(outcomes)
    print(f"{spent:.0f} CPU s for {len(questions)} questions", file=sys.stderr)


def save(questions: list[Question], options: argparse.Namespace) -> int:
    """Saves answers, or texts; questions that were not asked keep theirs."""
    everything = read_questions(options.answers)
    answers = read_answers(options.answers, {question.group for question in everything})
    texts = read_prose(options.answers)
    failed = []
    for question, steps, text in answered(questions, options):
        answers[question.name], texts[question.name] = steps, text
        failed += [question.name] if any(int(str(s["code"])) < 0 for s in steps) else []
    if failed:
        print(f"nothing saved: no answer to {', '.join(failed)}", file=sys.stderr)
        return 1
    if options.prose:
        write_prose(options.answers, everything, texts)
    else:
        write_answers(options.answers, everything, answers)
    return 0


def compare(questions: list[Question], options: argparse.Namespace) -> int:
    """Prints what differs, in the order of the questions."""
    found = Comparison()
    texts: list[Difference] = []
    saved = read_answers(options.answers, {question.group for question in questions})
    kept = read_prose(options.answers)
    now: Kept = {}
    everything = not (options.only or options.prose)
    if everything and (unasked := sorted(set(saved) - {one.name for one in questions})):
        print(f"saved, but no question: {', '.join(unasked)}")
        return 1
    for question, steps, text in answered(questions, options):
        now[question.name] = steps
        texts += prose_differences(question.name, kept.get(question.name, ""), text)
    if not options.prose:
        for question in questions:
            found.question(question.name, saved.get(question.name), now[question.name])
        for other in found.others:
            print(f"another plan of equal value: {other}")
    differences = texts if options.prose else found.differences
    for difference in differences:
        print(difference)
    what = "texts" if options.prose else f"{found.values:,} values"
    print(f"{len(questions)} questions, {what} compared, {len(differences)} differences")
    return 1 if differences else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("save", "compare"))
    parser.add_argument("--prose", action="store_true", help="printed texts in place of answers")
    parser.add_argument(
        "--only", metavar="PATTERN", action="append", help="names, e.g. 'rack/*' (repeatable) [all]"
    )
    parser.add_argument("--jobs", type=measuring.positive, default=1, help="processes [1]")
    parser.add_argument(
        "--limit", type=float, default=300.0, help="most wall seconds of a question [300]"
    )
    parser.add_argument("--answers", type=Path, default=ANSWERS, help=argparse.SUPPRESS)
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose code answers [this]")
    parser.add_argument("--quiet", action="store_true", help="no line per question")
    return parser


def main() -> int:
    """Asks, saves or compares, and returns the exit status."""
    parser = _parser()
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout.resolve()))
    os.environ["PYTHONPATH"] = str(options.checkout.resolve())
    questions = read_questions(options.answers, options.only or ("*",))
    if options.prose:
        questions = [question for question in questions if question.prints_text]
    if not questions:
        parser.error(f"no question is named {', '.join(options.only or ['*'])}")
    started = time.monotonic()
    status = save(questions, options) if options.action == "save" else compare(questions, options)
    print(f"{time.monotonic() - started:.0f} s of wall time", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
