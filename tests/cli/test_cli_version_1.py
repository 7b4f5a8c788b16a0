"""Answers of `planner solve` as version 1 wrote them: one flat object, kept in `version_1`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused, solve
from planner.base.jsonfile import sealed
from planner.question.files.result_layout import PLACES, as_parts
from planner.question.provenance import versions
from strict_yaml.writing import dump as dump_yaml

KEPT = Path(__file__).parent / "version_1"
NAMES = ("uniform", "uneven", "pools", "machines")


def kept(name: str) -> dict[str, Any]:
    """A kept answer, with the databases of today: theirs had other hashes."""
    document: dict[str, Any] = json.loads((KEPT / f"{name}.json").read_text(encoding="utf-8"))
    document["versions"] = versions()
    return sealed(document)


def written(folder: Path, document: dict[str, Any]) -> Path:
    path = folder / "answer.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def at(document: dict[str, Any], place: str) -> Any:
    """The value at a dotted place."""
    found: Any = document
    for step in place.split("."):
        found = found[step]
    return found


def renamed(value: Any) -> Any:
    """A value of version 1 with the stages of counts as they are called today."""
    return json.loads(json.dumps(value).replace('"skeletons"', '"partial_plans"'))


@each("name", NAMES)
def test_every_value_has_its_place_in_the_parts(name: str) -> None:
    old = kept(name)
    new = as_parts(copy.deepcopy(old))
    assert {*old} - {*PLACES} == {"schema_version", "certificate"}
    for before, place in PLACES.items():
        if before not in ("versions", "asked"):
            assert at(new, place) == renamed(old[before]), before
    for key, value in (old["certificate"] or {}).items():
        assert new["certificate"][key] == value
    assert as_parts(new) == new


@each(
    ("asked", "today"),
    [
        ({"chips": 64}, {"chips_at_most": 64}),
        ({"chips": 64, "chips_exact": True}, {"chips": 64}),
        ({"chips": 64, "layout": "uneven"}, {"chips": 64, "layout": "uneven"}),
        ({"chips": 64, "assumptions": "roofline"}, {"chips": 64, "assumptions": "roofline"}),
        ({"total_pes": 2112, "chips_exact": True}, {"total_pes": 2112, "chips_exact": True}),
        ({"total_pes": 2112}, {"total_pes": 2112}),
    ],
)
def test_chips_are_asked_for_as_they_were_meant(
    asked: dict[str, Any], today: dict[str, Any]
) -> None:
    """The front ranged over smaller counts too, where the question did not keep to all chips.

    Every plan of the framework was searched, whatever its risk of running out of memory.
    """
    every = {"runnable_in": ["any"], "max_oom_risk": 1.0}
    found = as_parts({**kept("uniform"), "asked": asked})["question"]["asked"]
    assert found == {**today, **every}
    own = {"runnable_in": ["megatron"], "max_memory": 7e10}
    found = as_parts({**kept("uniform"), "asked": {**asked, **own}})["question"]["asked"]
    assert found == {**today, **every, **own}


def test_a_limit_on_power_holds_where_it_was_meant_to() -> None:
    """At nodes and fabric, in answers before the boundary could be chosen, of both versions."""
    asked = {"chips_at_most": 8, "max_power": 5500}
    every = {"runnable_in": ["any"], "max_oom_risk": 1.0}
    meant = {**asked, "power_boundary": "node_and_fabric", **every}
    old = as_parts({**kept("uniform"), "asked": asked})
    assert old["question"]["asked"] == meant
    new = {**old, "question": {**old["question"], "asked": asked}}
    assert as_parts(new)["question"]["asked"] == meant
    chosen = {**asked, "power_boundary": "facility"}
    new["question"]["asked"] = chosen
    assert as_parts(new)["question"]["asked"] == {**chosen, **every}


def test_a_report_reads_an_answer_that_does_not_say_where_its_limit_holds(tmp_path: Path) -> None:
    flags = "--model gpt3-125m --hardware h100-sxm5-80 --chips 8 --batch-tokens 64Ki"
    today = solve(*flags.split(), "--max-power", "5.5kW", "--power-boundary", "it")
    assert today["question"]["asked"].pop("power_boundary") == "node_and_fabric"
    assert today["notes"]["caveats"][-1].startswith("It draws ")
    for plan in (today["best"], *today["front"]["plans"], *today["candidates"]["top"]):
        del plan["energy_per_token_j"]
    path = written(tmp_path, sealed(today))
    outcome = planner("report", path)
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    assert "(--power-boundary node_and_fabric)" in path.with_suffix(".html").read_text("utf-8")


def test_bounds_have_their_names_of_today() -> None:
    old = kept("uneven")
    old["certificate"]["funnel"][1]["name"] = "LB2 told"
    funnel = as_parts(old)["certificate"]["funnel"]
    assert funnel[1] == old["certificate"]["funnel"][1] | {"name": "LB2 launchable"}
    assert funnel[2:] == old["certificate"]["funnel"][2:]


def of_version_1(today: dict[str, Any]) -> dict[str, Any]:
    """An answer of today as version 1 wrote it."""
    names = {at_place: old for old, at_place in PLACES.items()}
    flat = {old: at(today, place) for place, old in names.items() if old not in ("run", "digest")}
    flat |= {"schema_version": 1, "certificate": None}
    if today["certificate"]["funnel"]:
        flat["certificate"] = today["certificate"]
    text = json.dumps(flat).replace('"partial_plans"', '"skeletons"')
    text = text.replace('"chips_at_most"', '"chips"')
    return sealed(json.loads(text))


@each("name", ["uniform", "uneven", "machines"])
def test_a_report_reads_them(tmp_path: Path, name: str) -> None:
    """With the figures of today; a kept file has those of the planner that wrote it."""
    job = tmp_path / "job.yaml"
    job.write_text(dump_yaml(as_parts(kept(name))["question"]["asked"]), encoding="utf-8")
    today = of_version_1(solve(job))
    assert today.keys() == kept(name).keys() | {"asked"}
    path = written(tmp_path, today)
    outcome = planner("report", path)
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    assert kept(name)["job"]["model"] in path.with_suffix(".html").read_text(encoding="utf-8")


@each("name", NAMES)
def test_a_plan_of_the_front_is_evaluated_again(tmp_path: Path, name: str) -> None:
    """With the figures of today; a kept file has those of the planner that wrote it."""
    old = kept(name)
    outcome = planner("evaluate", written(tmp_path, old), "--row", 1, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["mesh"] == old["front"][0]["mesh"]
    assert outcome.document["micro_batch"] == old["front"][0]["micro_batch"]
    job = tmp_path / "job.yaml"
    job.write_text(dump_yaml(as_parts(old)["question"]["asked"]), encoding="utf-8")
    today = of_version_1(solve(job))
    again = planner("evaluate", written(tmp_path, today), "--row", 1, "--json")
    assert again.code == 0, again.err
    assert again.document["step_time_s"] == pytest.approx(today["front"][0]["step_time_s"])


def test_what_was_edited_is_refused_by_its_new_name(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(dump_yaml(as_parts(kept("uniform"))["question"]["asked"]), encoding="utf-8")
    old = of_version_1(solve(job))
    old["objective"] *= 2
    assert "was edited" in refused("report", written(tmp_path, old))[0]
    mistakes = refused("report", written(tmp_path, sealed(old)))
    assert "certificate.objective: the file says" in mistakes[0]
