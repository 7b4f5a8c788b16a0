"""What tests of certificates share."""

import json
from typing import Any

import pytest
from support.engines import BENCHMARKS

from planner.answers.api import solve_request
from planner.answers.files.certificate import certificate_text
from planner.question.request import request_from
from planner.search.space import Trail

JOB = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 8, "batch_tokens": 2**17}


def certificate_of(**question: Any) -> str:
    """The certificate of a question, as text."""
    request, trail = request_from(question), Trail()
    return certificate_text(request, trail, solve_request(request, trail=trail))


@pytest.fixture(scope="session")
def certificate() -> dict[str, Any]:
    """The certificate of a small job."""
    found: dict[str, Any] = json.loads(certificate_of(**JOB))
    return found


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks import each other by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
