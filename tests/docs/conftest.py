"""What the tests of the pages share."""

from collections.abc import Iterator

import pytest
from cli.remembering import remembered
from studies.sweep.stand_in import Here

from docs.reading import COLUMNS
from planner.studies.sweep.running import workers


@pytest.fixture(autouse=True, scope="package")
def answers_are_remembered() -> Iterator[None]:
    """The commands of all pages ask each question once."""
    with remembered():
        yield


@pytest.fixture(autouse=True)
def output_has_the_width_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no terminal gets lines of 110 columns; a page has room for 100."""
    monkeypatch.setattr("planner.report.tables.tables.PLAIN_WIDTH", COLUMNS)


@pytest.fixture(autouse=True)
def studies_are_solved_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of workers take longer to start than the studies of pages take."""
    monkeypatch.setattr(workers, "LocalWorkers", lambda count: Here(threads=count or 1))
