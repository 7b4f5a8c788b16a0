"""Certificates with one thing altered are refused, whatever it is."""

import json
import random
from typing import Any

import pytest

from planner.verification.checking import verify

SEED = 30


@pytest.mark.usefixtures("importable")
def test_every_alteration_is_refused(certificate: dict[str, Any]) -> None:
    import altering  # noqa: PLC0415  (found beside benchmarks)

    rng = random.Random(SEED)
    names = altering.possible(certificate)
    assert names == list(altering.ALTERATIONS)
    taken = [name for name in names if verify(_altered(altering, certificate, name, rng)).verified]
    assert taken == []


def _altered(altering: Any, certificate: dict[str, Any], name: str, rng: random.Random) -> str:
    return json.dumps(altering.altered(certificate, name, rng))
