"""Numbers that are drawn to be read again at their sources, and what was found by reading."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "docs" / "reliability" / "records.csv"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Modules of the campaigns are found through the folder of benchmarks alone."""
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "campaigns"]:
        del sys.modules[name]


def records() -> ModuleType:
    return importlib.import_module("campaigns.rereading")


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
    assert all(row.said for row in rows if row.result == "differs")
    text = (KEPT.parents[1] / "reliability.md").read_text(encoding="utf-8")
    counts = [sum(row.result == result for row in rows) for result in records().RESULTS]
    assert f"| all | {' | '.join(map(str, [len(rows), *counts]))} |" in text


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
