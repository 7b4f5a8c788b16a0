"""`planner validate --what goodput`: closed forms beside simulated and published runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.command import planner

from planner.evidence.goodput.table import CASES, goodput_tables, published_rows


def test_closed_forms_hold_where_their_assumptions_do() -> None:
    found = goodput_tables(runs=200)
    assert [row.words for row in found.simulated] == [case.words for case in CASES]
    for row in found.simulated:
        off = abs(row.difference)
        if row.words.startswith("as assumed"):
            assert off <= 0.01 + 4 * row.error
        elif row.chips == 100_000 or row.words.startswith("a failure pulls"):
            assert off > 0.04, "the table says how far off it is"
    page = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    for part in ("simulated", "sites", "published"):
        assert all(f"`{key}`" in page for key in found.to_dict()[part][0])
    inside, of = found.coverage
    assert (inside, of) == (3, 4)
    assert found.to_dict()["coverage"] == {"inside": 3, "of": 4, "level": 0.8}


def test_published_runs() -> None:
    rows = {row.run: row for row in published_rows()}
    llama = rows["Llama 3 405B"].predicted
    assert llama is not None
    assert 0.90 < llama < 0.95, "over 90 %, with 419 failures of some 12 minutes in 54 days"
    assert rows["ByteRobust"].predicted is None
    assert rows["ByteRobust"].closes_the_gap == pytest.approx(63_000, rel=0.01)
    bloom = rows["BLOOM 176B"].predicted
    assert bloom == pytest.approx(1 - (1.5 + 0.2) / (43_829 / 384), abs=2e-3), "1.5 h a time"


@pytest.mark.parametrize(("flags", "words"), [
    (("--data", "x.csv"), "what: --data is a file of one kind; give one of "),
    (("--source", "mpt"), "what: 'goodput' uses the shipped constants and all sources"),
    (("--calibration", "x.yaml"), "what: 'goodput' uses the shipped constants; "),
])  # fmt: skip
def test_what_has_no_effect_on_goodput(flags: tuple[str, ...], words: str) -> None:
    outcome = planner("validate", "--what", "goodput", *flags)
    assert outcome.code == 2
    assert words in outcome.err
