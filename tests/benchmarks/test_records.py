"""Numbers that are drawn to be read again at their sources, and what was found by reading."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "reliability" / "records.csv"


def records() -> ModuleType:
    return importlib.import_module("records")


def test_a_seed_draws_numbers_that_public_places_state() -> None:
    chosen, of = records().drawn(40, 7)
    assert chosen == records().drawn(40, 7)[0] != records().drawn(40, 8)[0]
    assert len({(one.record, one.path) for one in chosen}) == 40 < of
    for one in chosen:
        assert one.kind != "assumed"
        assert one.sources
        assert all(place.startswith(("http", "arXiv:")) for _, place in one.sources)


def test_the_page_counts_what_was_read_of_numbers_that_are_still_there() -> None:
    rows = records().kept(KEPT)
    assert list(records().changed(rows)) == []
    (table,) = records().kept_report(rows).tables
    *places, total = table.rows
    assert total["numbers"] == len(rows) == sum(row["numbers"] for row in places)
    assert sum(total[said] for said in records().RESULTS.values()) == len(rows)
    assert all(row.said for row in rows if row.result == "differs")


def test_a_number_that_has_changed_since_is_named() -> None:
    first, second, *_ = records().kept(KEPT)
    rows = [first._replace(value="1.5"), second, second._replace(path="elsewhere")]
    changed, gone = records().changed(rows)
    assert changed == f"{first.record} {first.path}: 1.5 was read again, now {first.value}"
    assert gone.endswith("now None")


def test_an_unknown_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.csv"
    lines = KEPT.read_text(encoding="utf-8").splitlines()[:2]
    path.write_text("\n".join(lines).replace("differs", "perhaps"), encoding="utf-8")
    with pytest.raises(SystemExit, match="unknown result or place"):
        records().kept(path)
