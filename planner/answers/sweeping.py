"""`planner.sweep`: very many questions at once, solved by Dask, kept in a store that can go on."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from planner.answers.api import solve_request
from planner.base.errors import InputError
from planner.base.frozen import thawed
from planner.base.messages import one_line
from planner.question.request import Request, request_from
from planner.studies.sweep.kept import kept_of
from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.store import Solved


def solve_in_order(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Solved]:
    """What a worker does with a batch: solves its questions in their order.

    Neighbours in a batch are neighbours in the study, mostly of one model on one cluster.

    Args:
        questions: Key and fields of each.
    """
    return [_solved(key, fields) for key, fields in questions]


def _solved(key: str, fields: Mapping[str, Any]) -> Solved:
    """One question; what goes wrong with it is its result."""
    started, wall = time.process_time(), time.perf_counter()
    status, answer, counts = _answer(fields)
    return Solved(
        key=key,
        version=answering_version(),
        status=status,
        answer=answer,
        cpu_s=time.process_time() - started,
        run={
            "seconds": time.perf_counter() - wall,
            "host": socket.gethostname(),
            "process": os.getpid(),
            **counts,
        },
    )


def _answer(fields: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Status, answer and counts of a question."""
    try:
        request: Request = request_from(fields)
        result = solve_request(request)
    except InputError as error:
        return "refused", {"reason": one_line(str(error))}, {}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a bug: the other points of the study are not to be lost by it
        return "failed", {"reason": one_line(f"{type(error).__name__}: {error}")}, {}
    return result.status, kept_of(result), thawed(result.candidates.counts)
