"""What the tests of the pages share."""

from collections.abc import Iterator

import pytest
from cli.remembering import remembered


@pytest.fixture(autouse=True, scope="package")
def answers_are_remembered() -> Iterator[None]:
    """The commands of all pages ask each question once."""
    with remembered():
        yield
