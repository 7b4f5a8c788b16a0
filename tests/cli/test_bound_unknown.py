"""Where time ends before a machine is listed nothing is known of a bound, and none is stated."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import Outcome, planner, refused, solve
from planner.base.jsonfile import sealed
from planner.search.deadline import OutOfTime
from planner.search.uniform.engine import UniformSpace
from planner.search.uniform.nodes import Nodes

ASKED = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--batch-tokens", "16Ki",
         "--chips", "4", "--pes", "66,132", "--topology", "ring", "--time-limit", "1h",
         "--axes", "dp,tp", "--no-clocks")  # fmt: skip


@pytest.fixture(scope="module")
def stopped() -> Callable[..., Outcome]:
    """Has time end before the second machine is listed."""

    def asked(*arguments: object) -> Outcome:
        listed, nodes = [], UniformSpace.nodes

        def first(space: UniformSpace) -> Nodes:
            listed.append(space.model.chip.pe_count)
            if len({*listed}) > 1:
                raise OutOfTime
            return nodes(space)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(UniformSpace, "nodes", first)
            return planner(*arguments)

    return asked


@pytest.fixture(scope="module")
def found(stopped: Callable[..., Outcome]) -> Any:
    return stopped("solve", *ASKED, "--json").document


def test_json_has_neither_bound_nor_gap(found: Any) -> None:
    known = found["certificate"]
    assert (known["status"], known["bound"], known["gap"]) == ("feasible", None, None)
    assert known["objective"] == found["best"]["step_time_s"]


def test_text_says_no_gap(stopped: Callable[..., Outcome]) -> None:
    said = stopped("solve", *ASKED)
    assert said.code == 0
    assert "the time limit ended the search" in " ".join(said.out.split())
    assert "from optimal" not in said.out
    assert "100 %" not in said.out


def stored(path: Path, document: Any, **certificate: Any) -> Path:
    """An answer in a file, with another certificate."""
    changed = copy.deepcopy(document)
    changed["certificate"] |= certificate
    path.write_text(json.dumps(sealed(changed)), encoding="utf-8")
    return path


def test_a_page_says_no_gap(found: Any, tmp_path: Path) -> None:
    old, page = stored(tmp_path / "old.json", found), tmp_path / "page.html"
    assert planner("report", old, "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "the time limit ended the search." in text
    assert "gap" not in text[text.index("the time limit ended") :][:60]


def test_a_gap_that_is_known_now_is_a_change(found: Any, tmp_path: Path) -> None:
    old, new = stored(tmp_path / "old.json", found), tmp_path / "new.json"
    new.write_text(json.dumps(solve(*ASKED)), encoding="utf-8")
    changes = planner("compare", old, new, "--json").document["changes"]
    assert [(one["old"], one["new"]) for one in changes if one["name"] == "gap"] == [(None, 0.0)]


@each(("certificate", "words"), [
    ({"gap": 1.0}, "certificate.gap: the file says 1.0, its plan gives null"),
    ({"status": "optimal"}, "certificate.bound: is missing beside a best plan that is proved"),
    ({"objective": 1.0}, "certificate.objective: the file says 1.0"),
    ({"uniform": 1.0}, "certificate.uniform: the file says 1.0"),
])  # fmt: skip
def test_what_contradicts_an_unknown_bound_is_refused(
    certificate: dict[str, Any], words: str, found: Any, tmp_path: Path
) -> None:
    bad = stored(tmp_path / "bad.json", found, **certificate)
    assert words in refused("report", bad, "-o", tmp_path / "page.html")[0]


def test_a_gap_that_was_asked_for_is_known(found: Any, tmp_path: Path) -> None:
    asked = copy.deepcopy(found)
    del asked["question"]["asked"]["time_limit"]
    asked["question"]["asked"]["gap"] = 0.01
    words = "certificate.status: 'feasible' contradicts a search without a time limit"
    bad = stored(tmp_path / "bad.json", asked)
    assert words in refused("report", bad, "-o", tmp_path / "page.html")[0]
