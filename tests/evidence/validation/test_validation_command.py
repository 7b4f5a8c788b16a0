"""`planner validate` on the command line, its pictures, and the page that it writes."""

import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cli.command import planner, refused
from evidence.tables_once import failures
from support.cases import each

from planner.evidence.power.caps import cap_table
from planner.evidence.power.clocks import SWEPT, clock_table
from planner.evidence.power.power import power_table
from planner.evidence.validation import answer
from planner.evidence.validation.answer import Validation, validate
from planner.report.tables import validation_tables as view

ROOT = Path(__file__).parents[3]
SOURCES = ("vtrain-multi", "bloomtune", "simumax")


@pytest.fixture(scope="module")
def document() -> Any:
    flags = [word for name in SOURCES for word in ("--source", name)]
    outcome = planner("validate", *flags, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.document


def test_the_document_has_what_is_promised(document: Any) -> None:
    assert set(document) == {
        "schema_version", "data", "site_factors", "rows", "summary", "targets", "skipped",
        "skipped_rows", "notes", "seconds", "versions",
    }  # fmt: skip
    assert [row["name"] for row in document["summary"]["sources"]] == sorted(SOURCES)
    assert len(document["rows"]) == 73 + 74 + 22
    for row in document["rows"]:
        assert row["low_s"] < row["predicted_step_time_s"] < row["high_s"]
        assert row["gold"] is True
        assert row["split"] in ("fit", "test")
        assert row["rule"]
    held = [row for row in document["rows"] if row["measured_memory_bytes"] is not None]
    assert len(held) == 49 + 22
    assert all(row["measured_power_w"] is None for row in document["rows"])


def test_the_summary_follows_from_the_rows(document: Any) -> None:
    for source in document["summary"]["sources"]:
        rows = [row for row in document["rows"] if row["source"] == source["name"]]
        error = [r["predicted_step_time_s"] / r["measured_step_time_s"] - 1 for r in rows]
        assert source["rows"] == source["time"]["rows"] == len(rows)
        assert source["time"]["mean"] == pytest.approx(np.mean(np.abs(error)))
        assert source["time"]["bias"] == pytest.approx(np.mean(error))
        site = [r["predicted_with_site_factor_s"] / r["measured_step_time_s"] - 1 for r in rows]
        assert source["site_time"]["mean"] == pytest.approx(np.mean(np.abs(site)))


def test_every_source_counts_once(document: Any) -> None:
    found = document["summary"]["gold_sources"]
    sources = document["summary"]["sources"]  # all of their rows are gold
    assert found["sources"] == len(sources) == 3
    assert found["mean"] == pytest.approx(np.mean([row["time"]["mean"] for row in sources]))
    assert found["site_median"] == pytest.approx(
        np.mean([row["site_time"]["median"] for row in sources])
    )


def test_the_flag_changes_the_times_that_are_shown(document: Any) -> None:
    outcome = planner("validate", "--source", "simumax", "--site-factors", "--json")
    with_it = {row["id"]: row for row in outcome.document["rows"]}
    assert outcome.document["site_factors"] is True
    without = {row["id"]: row for row in document["rows"] if row["source"] == "simumax"}
    assert with_it.keys() == without.keys()
    for key, row in with_it.items():
        before = without[key]
        assert row["predicted_step_time_s"] == before["predicted_with_site_factor_s"]
        factor = row["site_factor"]
        assert row["high_s"] == pytest.approx(before["high_s"] * factor)
        assert row["predicted_memory_bytes"] == before["predicted_memory_bytes"]


def test_the_tables_hold_the_figures(document: Any) -> None:
    out = planner("validate", "--source", "bloomtune").out
    (found,) = (row for row in document["summary"]["sources"] if row["name"] == "bloomtune")
    line = next(line for line in out.splitlines() if line.startswith("bloomtune"))
    cells = line.split()
    assert cells[1] == "74"
    assert cells[3:5] == [f"{100 * found['time'][key]:.1f}" for key in ("mean", "median")]
    assert "source matches 'bigscience'" in out
    filled = {
        name for row in document["rows"] if row["source"] == "bloomtune" for name in row["filled"]
    }
    assert filled
    assert all(re.search(rf"^{name} ", out, re.MULTILINE) for name in filled)


def test_a_pattern_chooses_sources() -> None:
    rows = planner("validate", "--source", "nemo*", "--json").document["rows"]
    names = {row["source"] for row in rows}
    assert len(names) > 5
    assert all(name.startswith("nemo") for name in names)


@pytest.mark.parametrize(("flags", "words"), [
    (("--source", "vtrain-mult"), "did you mean 'vtrain-multi'?"),
    (("--what", "run"), "what: 'run' is not one of runs, collectives"),
    (("--what", "collectives", "--source", "mpt"), "leave out --source and"),
    (("--what", "energy", "--calibration", "x.yaml"), "leave out --source and"),
    (("--calibration", "none.yaml"), "none.yaml"),
    (("--plot", "x.gif"), "pictures are written as .svg, .png or .html"),
    (("--what", "failures", "--plot", "x.svg"), "plot: draws training runs, not failures"),
])  # fmt: skip
def test_bad_flags(
    flags: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (mistake,) = refused("validate", *flags)
    assert words in mistake
    assert list(tmp_path.iterdir()) == []


def test_a_picture_needs_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (mistake,) = refused("validate", "--source", "mtnlg", "--plot", "no-such-folder/x.svg")
    assert "no-such-folder" in mistake
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def pictured() -> Validation:
    """What every picture of the same question shows."""
    return validate(sources=("simumax", "mpt"))


@pytest.mark.parametrize("ending", ["svg", "html", "png"])
def test_a_picture_is_written(
    ending: str, tmp_path: Path, pictured: Validation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def as_asked(*, sources: Sequence[str], **_: object) -> Validation:
        assert sorted(sources) == ["mpt", "simumax"]
        return pictured

    monkeypatch.setattr("planner.evidence.validation.answer.validate", as_asked)
    path = tmp_path / f"runs.{ending}"
    outcome = planner("validate", "--source", "simumax", "--source", "mpt", "--plot", path)
    assert outcome.code == 0, outcome.err
    content = path.read_bytes()
    starts = {"svg": b"<svg ", "html": b"<!doctype html>", "png": b"\x89PNG"}
    assert content.startswith(starts[ending])
    assert len(content) < 400_000


@pytest.fixture(scope="module")
def tables_once() -> Iterator[None]:
    """Tables that commands print in several forms are made once for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "failures_table", failures)
        patch.setattr(answer, "energy_tables", cache(answer.energy_tables))
        yield


@pytest.mark.usefixtures("tables_once")
def test_failures_and_energy_are_those_of_their_tables() -> None:
    document = planner("validate", "--what", "failures", "--json").document["failures"]
    found = failures()
    assert document["risk"]["default"] == found.risk.default
    assert len(document["risk"]["refused_runs"]) == len(found.risk.refused_runs) > 100
    assert [row["limit_gib"] for row in document["margins"]] == [
        row.limit_gib for row in found.margins
    ]
    energy = planner("validate", "--what", "energy", "--json").document["energy"]
    assert energy["power"]["summary"]["mean"] == power_table().summary().mean
    assert {chip: table["left_power"]["n"] for chip, table in energy["clocks"].items()} == {
        chip: clock_table(chip).left_power.n for chip in SWEPT
    }
    assert len(energy["caps"]["rows"]) == len(cap_table().rows)


@pytest.mark.usefixtures("tables_once")
@each(("what", "titles"), [
    ("failures", ("flagged by a limit of the memory", "by model", "Failed, by predicted memory")),
    ("energy", ("Mean power per chip that a meter showed", "Power caps", "no measurement")),
])  # fmt: skip
def test_other_tables_are_printed(what: str, titles: tuple[str, ...]) -> None:
    outcome = planner("validate", "--what", what)
    assert outcome.code == 0, outcome.err
    assert all(title in outcome.out for title in titles)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """benchmarks/accuracy.py."""
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "benchmarks" / "accuracy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy"] = module
    spec.loader.exec_module(module)
    return module


def pages() -> str:
    """The page and those below it, one behind the other."""
    docs = ROOT / "docs"
    files = [docs / "accuracy.md", *sorted((docs / "accuracy").glob("*.md"))]
    return "".join(path.read_text(encoding="utf-8") for path in files)


def test_the_page_holds_what_the_command_prints(script: ModuleType) -> None:
    page = pages()
    runs = validate(sources=SOURCES).runs
    assert runs is not None
    tables = (
        view.time_table(runs.sources, site=False), view.time_table(runs.sources, site=True),
        view.choice_table(runs.sources), view.memory_table(runs.sources),
        view.interval_table(runs.sources), view.peer_table(runs.sources, runs.peers),
    )  # fmt: skip
    for table in tables:
        lines = script.as_markdown(table).splitlines()
        assert len(lines) > 4
        assert [line for line in lines if line not in page] == []


def test_regions_of_a_page_are_replaced(script: ModuleType) -> None:
    page = "a\n<!-- begin: x -->\nold\n<!-- end: x -->\nb <!-- begin: y -->\n<!-- end: y -->\n"
    assert script.rewritten(page, {"x": "new \\1"}) == page.replace("old", "new \\1")
    with pytest.raises(Exception, match="begin: z"):
        script.rewritten(page, {"z": ""})


def test_a_region_stands_on_the_page_or_in_the_folder_of_its_name(
    script: ModuleType, tmp_path: Path
) -> None:
    page, below = tmp_path / "a.md", tmp_path / "a" / "b.md"
    below.parent.mkdir()
    page.write_text("<!-- begin: x -->\n<!-- end: x -->\n", encoding="utf-8")
    below.write_text("<!-- begin: y -->\nold\n<!-- end: y -->\n", encoding="utf-8")
    found = script.rewritten_pages(page, {"x": "1", "y": "2"})
    assert found[page] == "<!-- begin: x -->\n1\n<!-- end: x -->\n"
    assert found[below] == "<!-- begin: y -->\n2\n<!-- end: y -->\n"
    with pytest.raises(Exception, match="begin: z"):
        script.rewritten_pages(page, {"z": ""})


def test_every_region_of_the_page_is_filled(script: ModuleType) -> None:
    page = pages()
    names = re.findall(r"<!-- begin: (\S+) -->", page)
    assert names == re.findall(r"<!-- end: (\S+) -->", page)
    assert len(set(names)) == len(names) >= 15
    assert all((ROOT / "docs" / "pictures" / name).is_file() for name in script.PICTURES)
