"""What the tests of the pages share."""

from collections.abc import Iterator

import pytest
from cli.remembering import remembered
from studies.sweep.stand_in import Here

from planner.studies.sweep.running import workers


@pytest.fixture(autouse=True, scope="package")
def answers_are_remembered() -> Iterator[None]:
    """The commands of all pages ask each question once."""
    with remembered():
        yield


@pytest.fixture(autouse=True)
def studies_are_solved_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of workers take longer to start than the studies of pages take."""
    monkeypatch.setattr(workers, "LocalWorkers", lambda count: Here(threads=count or 1))
