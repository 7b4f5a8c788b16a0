"""What takes long is asked once, however many tests look at its answer from other sides.

Searches for plans and for schedules of collectives, what a plan leans on, what is feasible, and
predictions of runs.
Everything else of a command runs each time: reading flags and files, writing files, printing.
"""

import functools
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import planner.answers.api
import planner.answers.explained
import planner.collectives.questions.fronts
import planner.evidence.validation.answer
import planner.studies.feasibility.asking
from planner.base.messages import Origin
from planner.question.request import Request
from planner.question.resolved import Resolved
from planner.results.result import SolveResult

KEPT = 150  # answers; tests of the same questions follow each other
ASKED: dict[tuple[ModuleType, str], Callable[..., Any]] = {
    (module, name): getattr(module, name)
    for module, name in (
        (planner.answers.api, "solve_request"),
        (planner.answers.explained, "explain_plan"),
        (planner.answers.explained, "leaning_of"),
        (planner.collectives.questions.fronts, "front_of"),
        (planner.evidence.validation.answer, "validate"),
        (planner.studies.feasibility.asking, "feasible"),
    )
}
_answers: OrderedDict[tuple[str, bytes], Any] = OrderedDict()


def _words_of(argument: Any) -> Any:
    """What of an argument makes another question: not who is told of progress, nor field names."""
    if isinstance(argument, Request):
        return argument.model_dump_json(), sorted(argument.model_fields_set)
    if isinstance(argument, Resolved):
        return _words_of(argument.request), argument.chips, argument.defaults
    if isinstance(argument, SolveResult):
        best = argument.best
        return argument.question, None if best is None else (best.plan, best.machine)
    return None if callable(argument) or isinstance(argument, Origin) else argument


def _asks_a_clock_or_a_file(argument: Any) -> bool:
    """Whether the same question may have another answer the next time."""
    if isinstance(argument, Resolved):
        return _asks_a_clock_or_a_file(argument.request)
    if isinstance(argument, SolveResult):
        return _names_a_file(str(argument.question))
    if isinstance(argument, Request):
        return argument.time_limit is not None or _names_a_file(argument.model_dump_json())
    return isinstance(argument, Path | str | list | tuple) and _names_a_file(str(argument))


def _names_a_file(words: str) -> bool:
    return any(part in words for part in ("/", ".yaml", ".json", ".csv"))


def _once(name: str, ask: Callable[..., Any]) -> Callable[..., Any]:
    """A function that answers what it has been asked before as it did then."""

    @functools.wraps(ask)
    def answer(*arguments: Any, **named: Any) -> Any:
        given = (*arguments, *named.values())
        if any(map(_asks_a_clock_or_a_file, given)):
            return ask(*arguments, **named)
        words = pickle.dumps([*map(_words_of, given), *named])
        if (name, words) not in _answers:
            found = ask(*arguments, **named)
            if getattr(found, "status", None) in ("feasible", "time_limit"):
                return found  # a clock ended the search
            _answers[name, words] = found
        _answers.move_to_end((name, words))
        if len(_answers) > KEPT:
            _answers.popitem(last=False)
        return _answers[name, words]

    return answer


@contextmanager
def _answering(functions: dict[tuple[ModuleType, str], Callable[..., Any]]) -> Iterator[None]:
    """Inside of it the command line has its answers from these functions."""
    with ExitStack() as put:
        for (module, name), function in functions.items():
            put.enter_context(patch.object(module, name, function))
        yield


def remembered() -> Any:
    """Inside of it each question is asked once."""
    return _answering({place: _once(place[1], ask) for place, ask in ASKED.items()})


def anew() -> Any:
    """Inside of it, for tests that ask a question twice to see the same, it is asked each time."""
    return _answering(ASKED)
