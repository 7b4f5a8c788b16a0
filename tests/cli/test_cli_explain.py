"""`planner explain` and `planner compare` on the command line."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from explanation.cases import JOB, PLAN, resolved
from support.cases import each

from cli.command import planner, refused
from planner.answers.api import evaluate
from planner.answers.explained import compare, explain
from planner.base.units import show_seconds
from planner.explanation.rivals import rivals_in
from planner.objectives import OBJECTIVES
from planner.question.files.plan_file import read_plan_file
from planner.question.files.plan_text import job_of, plan_fields
from planner.report.charts.compare import compare_picture
from planner.report.drawing.chart import Bar
from planner.report.tables.explain import explain_view
from planner.report.tables.likely import tie_words
from planner.report.tables.tables import text_of
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explain") / "plan.yaml"
    data = {"schema_version": 1, "job": JOB, "plan": plan_fields(PLAN)}
    path.write_text(dump_yaml(data), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def other_file(plan_file: Path) -> Path:
    data = load_yaml(plan_file.read_text(encoding="utf-8"))
    data["plan"]["recompute"] = "full"
    path = plan_file.with_name("other.yaml")
    path.write_text(dump_yaml(data), encoding="utf-8")
    return path


def test_explain_as_json_holds_what_evaluate_says(plan_file: Path) -> None:
    found = planner("explain", plan_file, "--json").document
    alone = planner("evaluate", plan_file, "--json").document
    for name in ("step_time_s", "breakdown", "job", "versions"):
        assert found[name] == alone[name]
    assert found["binding"]["sentence"] == found["why"][0]
    assert {step["direction"] for step in found["steps"]} == {"plan", "machine", "slower", "scale"}
    assert found["elasticities"][0]["number"]["kind"] in {
        "datasheet", "measured", "derived", "assumed",
    }  # fmt: skip
    assert found["numbers"] > len(found["elasticities"])


@each("suffix", ["svg", "html"])
def test_explain_prints_and_draws(plan_file: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"explain.{suffix}"
    outcome = planner("explain", plan_file, "--plot", picture)
    assert outcome.code == 0, outcome.err
    for words in ("binds", "One step away", "What cannot be had", "What the answer leans on",
                  "Would another value change the plan?"):  # fmt: skip
        assert words in outcome.out
    text = picture.read_text(encoding="utf-8")
    assert "micro-batch 1" in text
    assert "peak.bf16" in text
    if suffix == "svg":
        assert ET.fromstring(text).tag.endswith("svg")


def test_another_objective(plan_file: Path) -> None:
    found = planner("explain", plan_file, "--objective", "energy", "--json").document
    had = [step for step in found["steps"] if step["refused"] is None]
    energies = [step["relative"]["energy"] for step in had]
    assert energies == sorted(energies)


def test_compare_as_json_and_drawn(plan_file: Path, other_file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "compare.svg"
    outcome = planner("compare", plan_file, other_file, "--plot", picture, "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.document
    assert [plan["name"] for plan in found["plans"]] == [str(plan_file), str(other_file)]
    (fall,) = found["waterfalls"]
    total = fall["start_s"] + sum(fall["parts_s"].values())
    assert total == pytest.approx(fall["end_s"], rel=1e-12)
    assert "From A to B" in picture.read_text(encoding="utf-8")


def test_compare_prints(plan_file: Path, other_file: Path) -> None:
    outcome = planner("compare", plan_file, other_file, "--train-tokens", "1e12")
    assert outcome.code == 0, outcome.err
    for words in ("is slower than A by", "What differs", "recompute", "run: days", "in all"):
        assert words in outcome.out


def test_bad_input_of_compare(plan_file: Path, other_file: Path, tmp_path: Path) -> None:
    (line,) = refused("compare", plan_file)
    assert line.startswith("plans: 1 given; two or more are compared")
    lines = refused("compare", plan_file, plan_file, tmp_path / "none.yaml", f"{other_file}:2")
    assert (
        f"plans: {plan_file} is the same as {plan_file}; give different plans, or a machine for "
        "each, e.g. --hardware h100-sxm5-80,h200-sxm5-141, or --collectives nccl,best"
    ) in lines
    assert any("none.yaml: cannot be read" in line for line in lines)
    assert len(lines) == 3
    later = tmp_path / "later.yaml"
    later.write_text(
        plan_file.read_text(encoding="utf-8").replace("schema_version: 1", "schema_version: 2"),
        encoding="utf-8",
    )
    (line,) = refused("compare", plan_file, later)
    assert "schema_version is 2; this planner reads version 1" in line


@each("command", ["explain", "compare"])
def test_a_picture_never_costs_a_plan(command: str, plan_file: Path, other_file: Path) -> None:
    plans = [plan_file] if command == "explain" else [plan_file, other_file]
    before = plan_file.read_bytes()
    (line,) = refused(command, *plans, "--plot", plan_file)
    assert line.startswith("plot: ")
    assert plan_file.read_bytes() == before
    (line,) = refused(command, *plans, "--plot", plan_file.with_name("picture.gif"))
    assert ".svg, .png or .html" in line


def test_an_unknown_objective(plan_file: Path) -> None:
    (line,) = refused("explain", plan_file, "--objective", "tim")
    assert line == (
        "objective: 'tim' is not one of time, energy, edp, memory, money, power, days, run-money, "
        "run-energy; did you mean 'time'?"
    )


@each("width", ["60", "80"])
def test_nothing_is_cut_on_a_narrow_screen(width: str, plan_file: Path) -> None:
    text = text_of(explain_view(explain(plan_file)), int(width))
    assert max(map(len, text.splitlines())) <= int(width)
    assert "…" not in text


def test_a_tie_is_explained_with_its_noise(plan_file: Path) -> None:
    found = explain(plan_file)
    assert any(step.tie for step in found.explained.steps)
    spread = found.evaluated.notes.spread
    assert spread is not None
    noise = f"{100 * (spread.tie_factor - 1):.3g} % apart cannot be told apart"
    words = " ".join(text_of(explain_view(found), 100).split())
    assert noise in words
    assert tie_words(None) == ""
    twice = f"{100 * (spread.tie_factor**2 - 1):.3g} % apart"
    assert twice in tie_words(spread, OBJECTIVES["edp"])


def test_plans_of_the_same_file_may_overtake(plan_file: Path, tmp_path: Path) -> None:
    """Rows on as many chips, of the same job; one that cannot be read costs nothing."""
    found = explain(plan_file)
    rows = [found.result.to_dict(), {**found.result.to_dict(), "chips": 8}]
    other = replace(PLAN, dp=2, tp=4, micro_batch=4)
    result = evaluate(other, **JOB).result
    rows += [result.to_dict(), {**result.to_dict(), "mesh": "?"}]
    data = {"schema_version": 1, "plan_job": job_of(resolved()), "front": rows}
    path = tmp_path / "front.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    request, plan, _, _ = read_plan_file(path, row=1)
    assert rivals_in(path, request, plan.chips, {}) == (PLAN, other)
    assert rivals_in(plan_file, request, plan.chips, {}) == ()
    assert rivals_in(path, request, 8, {}) == ()


def test_pictures_of_other_batches_have_the_basis_of_the_waterfall(
    plan_file: Path, tmp_path: Path
) -> None:
    data = load_yaml(plan_file.read_text(encoding="utf-8"))
    data["job"]["batch_tokens"] *= 2
    twice = tmp_path / "twice.yaml"
    twice.write_text(dump_yaml(data), encoding="utf-8")
    found = compare(plan_file, twice)
    fall, time, energy, memory = compare_picture(found).charts
    assert "for 524,288 tokens" in time.subtitle == energy.subtitle
    assert time.subtitle in fall.subtitle
    (words,) = [bar.detail for bar in time.marks if isinstance(bar, Bar) and
                bar.detail.startswith("B: ") and "compute" in bar.detail]  # fmt: skip
    assert show_seconds(found.sides[1].result.time_s["compute"] / 2) in words
    assert f"{show_seconds(found.waterfalls[0].end_s)}" in time.description
    assert memory.title == "Memory of the fullest chip"
    assert fall.rows[-1][1] == show_seconds(found.waterfalls[0].end_s)
