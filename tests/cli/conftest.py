"""Files that the tests of the command line start from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.answers import SMALL
from cli.command import solve
from cli.remembering import remembered
from strict_yaml.writing import dump as dump_yaml


@pytest.fixture(autouse=True, scope="package")
def answers_are_remembered() -> Iterator[None]:
    """The tests of this folder ask the search each question once."""
    with remembered():
        yield


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The plan file of a small job."""
    path = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", path)
    return path


@pytest.fixture
def job(tmp_path: Path) -> Any:
    """Writes a job file: data, text or bytes."""

    def write(content: Any) -> Path:
        path = tmp_path / "job.yaml"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else dump_yaml(content)
            path.write_text(text, encoding="utf-8")
        return path

    return write
