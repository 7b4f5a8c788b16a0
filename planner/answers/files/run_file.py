"""Answers about a run as `--json` prints them, read back: asked again, and compared.

The plans of phases, and those for what is left while nodes are down, are found again by the search
itself, in the seconds that it takes: what the file says of them has to come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.answers.files.documents import check_versions
from planner.answers.files.reevaluation import Rereading
from planner.answers.run.lost import DownResult
from planner.answers.run.outage import solve_down_request
from planner.answers.run.phased import PhasesResult
from planner.answers.run.phases import solve_phases_request
from planner.base.errors import InputError
from planner.base.progress import Progress

_OF_PHASES = frozenset({"phases", "passages", "total"})
_OF_DOWN = frozenset({"down", "ways", "running"})
_ASKED = "asked"
_OF_SEARCH = ("seconds", "versions", _ASKED)
"""What may be another when it is asked again."""


def is_of_run(data: Mapping[str, Any]) -> bool:
    """Whether a document is the answer of `planner solve --phases` or `--down`."""
    return data.keys() >= _OF_PHASES or data.keys() >= _OF_DOWN


def read_run(
    data: Mapping[str, Any], name: str, path: Path, on_progress: Progress | None = None
) -> PhasesResult | DownResult:
    """The answer about a run, found again.

    Args:
        data: The document.
        name: What messages call its file.
        path: Where it is: files that its question names lie beside it.
        on_progress: Called with (what, done, of) while the searches run.

    Raises:
        InputError: Another version wrote it, or it is not what comes out; one line per mistake.
    """
    check_versions(data, name)
    asked = data.get(_ASKED)
    if not isinstance(asked, Mapping):
        raise InputError(f"{name}: {_ASKED}: is missing, so nothing says what was asked")
    reading = Rereading(name=name, path=path)
    request, origin = reading.request(asked), reading.origin(_ASKED)
    found: PhasesResult | DownResult
    if data.keys() >= _OF_PHASES:
        found = solve_phases_request(request, on_progress, origin)
    else:
        found = solve_down_request(request, on_progress, origin)
    mine = {key: value for key, value in found.to_dict().items() if key not in _OF_SEARCH}
    reading.compare(data, mine, "")
    return found
