"""The search is asked a question once, however many tests look at its answer from other sides.

Everything else of a command runs each time: reading flags and files, writing files, printing.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import planner.answers.api
from planner.question.request import Request

KEPT = 100  # answers; tests of the same questions follow each other
ask = planner.answers.api.solve_request
_answers: OrderedDict[tuple[str, ...], Any] = OrderedDict()


def _ask_once(request: Request, *others: Any) -> Any:
    """What `planner.answers.api.solve_request` answers, or has answered to an equal request."""
    question = (request.model_dump_json(), *sorted(request.model_fields_set))
    if request.time_limit is not None or "/" in question[0] or ".yaml" in question[0]:
        return ask(request, *others)  # a clock and files may say something else the next time
    if question not in _answers:
        _answers[question] = ask(request, *others)
    _answers.move_to_end(question)
    if len(_answers) > KEPT:
        _answers.popitem(last=False)
    return _answers[question]


@contextmanager
def answering_with(function: Any) -> Iterator[None]:
    """Inside of it the command line has its answers from a function."""
    before, planner.answers.api.solve_request = planner.answers.api.solve_request, function
    try:
        yield
    finally:
        planner.answers.api.solve_request = before


def remembered() -> Any:
    """Inside of it the search is asked each question once."""
    return answering_with(_ask_once)


def anew() -> Any:
    """Inside of it, for tests that ask a question twice to see the same, it is asked each time."""
    return answering_with(ask)
