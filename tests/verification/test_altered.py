"""Certificates with one thing altered are refused, whatever it is."""

import json
import random
from typing import Any

import pytest

from planner.verification.checking import verify
from planner.verification.document import sealed

SEED = 30


@pytest.mark.usefixtures("importable")
def test_every_alteration_is_refused(certificate: dict[str, Any]) -> None:
    import tampering  # noqa: PLC0415  (found beside benchmarks)

    rng = random.Random(SEED)
    names = tampering.possible(certificate)
    assert names == list(tampering.ALTERATIONS)
    taken = [name for name in names if verify(_altered(tampering, certificate, name, rng)).verified]
    assert taken == []


def _altered(tampering: Any, certificate: dict[str, Any], name: str, rng: random.Random) -> str:
    return json.dumps(tampering.altered(certificate, name, rng))


def test_nothing_is_counted_under_a_name_of_nothing(certificate: dict[str, Any]) -> None:
    plans = {**certificate["counts"]["plans"], "foo": 0}
    changed = {**certificate, "counts": {**certificate["counts"], "plans": plans}}
    assert "counts.plans: foo is 0" in verify(json.dumps(sealed(changed))).fault
