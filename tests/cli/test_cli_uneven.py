"""`planner solve --layout uneven` from the question to files that are read again."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.command import planner, refused, replaced, solve
from planner.answers.files.result_file import read_result
from planner.base.jsonfile import digest_of
from planner.base.units import show_seconds
from strict_yaml.reading import load as load_yaml

JOB = (
    "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--batch-tokens", "64Ki",
    "--layout", "uneven", "--front-points", "3",
)  # fmt: skip
PIPED = (*JOB, "--fix", "pp=4", "--fix", "interleave=1", "--fix", "micro_batch=1,2,4")


@pytest.fixture(scope="module")
def answer() -> Any:
    """The answer to a job whose pipeline has four stages."""
    return solve(*PIPED)


def test_the_answer_has_its_stages_and_its_certificate(answer: Any) -> None:
    known = answer["certificate"]
    assert (answer["certificate"]["status"], answer["stages"]["layout"]) == ("optimal", "uneven")
    assert answer["certificate"]["objective"] == answer["best"]["step_time_s"] == known["objective"]
    assert answer["certificate"]["bound"] == known["bound"] <= answer["certificate"]["objective"]
    assert 0 <= answer["certificate"]["gap"] <= 1e-6
    assert (
        answer["stages"]["uniform"]["step_time_s"]
        == known["uniform"]
        >= answer["certificate"]["objective"]
    )
    assert [stage["name"] for stage in known["funnel"]] == [
        "LB0", "LB1", "LB2", "LB2 launchable", "stages",
    ]  # fmt: skip
    assert known["left"] == 0
    assert known["lowest_left"] is None
    assert sum(stage["layers"] for stage in answer["best"]["per_stage"]) == 12
    assert all(point["chips"] == 8 for point in answer["front"]["plans"])
    assert len(answer["candidates"]["top"]) == 1


def test_uneven_stages_are_never_worse_than_uniform_ones(answer: Any) -> None:
    flags = [word for word in PIPED if word not in ("--front-points", "3")]
    uniform = solve(*replaced(flags, "--layout", "uniform"))
    assert answer["certificate"]["objective"] <= uniform["certificate"]["objective"] * (1 + 1e-12)
    assert answer["stages"]["uniform"]["step_time_s"] == uniform["certificate"]["objective"]
    least = min(point["energy_per_step_j"] for point in answer["front"]["plans"])
    assert least <= min(p["energy_per_step_j"] for p in uniform["front"]["plans"]) * (1 + 1e-9)


def test_the_page_for_people_says_what_is_proved(answer: Any) -> None:
    text = planner("solve", *PIPED, "--show", "all").out
    words = " ".join(text.split())
    assert "Proved optimal" in words
    rows = answer["certificate"]["funnel"][0]["rows"]
    assert f"no plan on any of {rows:,} meshes with micro-batch and schedule has less" in words
    assert "Rows of LB0 are meshes with micro-batch and schedule" in words
    gain = 1 - answer["certificate"]["objective"] / answer["certificate"]["uniform"]
    if gain > 1e-6:
        assert "off the step time of the best uniform plan" in words
        assert show_seconds(answer["certificate"]["uniform"]) in words
    else:
        assert "Uneven stages gain nothing (0 %)" in words
    for stage in answer["certificate"]["funnel"]:
        assert stage["name"] in text


def test_files_of_uneven_plans_give_the_same_figures_again(answer: Any, tmp_path: Path) -> None:
    plan, front, table = tmp_path / "p.yaml", tmp_path / "f.json", tmp_path / "f.csv"
    page, picture = tmp_path / "r.html", tmp_path / "p.svg"
    outcome = planner("solve", *PIPED, "-o", plan, "--pareto", front, "--pareto", table,
                      "--plot", picture, "--json")  # fmt: skip
    assert outcome.code == 0
    again = planner("evaluate", plan, "--json").document
    for name in ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes"):
        assert again[name] == answer["best"][name]
    if "stages" in answer["best"]:
        assert load_yaml(plan.read_text(encoding="utf-8"))["plan"]["stages"]
    for path in (front, table):
        row = planner("evaluate", path, "--row", len(answer["front"]["plans"]), "--json").document
        assert row["energy_per_step_j"] == answer["front"]["plans"][-1]["energy_per_step_j"]
    assert planner("report", front, "-o", page).code == 0
    assert picture.stat().st_size > 10_000


def written(answer: Any, path: Path) -> Path:
    """The answer in a file, sealed anew."""
    fields = {**answer, "digest": digest_of(answer)}
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def test_an_answer_is_read_again(answer: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert planner("report", written(answer, tmp_path / "a.json"), "-o", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "Certificate" in text
    if answer["best"].get("stages"):
        assert "Layers and clock of every pipeline stage" in text


@each("objective", ["time", "energy", "edp"])
def test_an_answer_with_interleaved_rows_is_read_again(objective: str, tmp_path: Path) -> None:
    asked = (*JOB, "--fix", "pp=2", "--fix", "interleave=2", "--fix", "tp=1", "--fix", "cp=1")
    found = solve(*asked, "--fix", "micro_batch=2", "--objective", objective)
    assert found["certificate"]["status"] == "optimal"
    path = written(found, tmp_path / "a.json")
    assert read_result(path).answer.to_dict()["best"] == found["best"]
    if objective == "time":  # pages of the others: test_other_objectives_have_certificates_too
        outcome = planner("report", path, "-o", tmp_path / "page.html")
        assert outcome.code == 0, outcome.err


def _funnel(answer: Any, at: int, **changes: Any) -> Any:
    funnel = [dict(stage) for stage in answer["certificate"]["funnel"]]
    funnel[at] |= changes
    return {"certificate": {**answer["certificate"], "funnel": funnel}}


FORGERIES = {
    "a better bound": (
        lambda a: {"certificate": {**a["certificate"], "bound": a["certificate"]["objective"]}},
        "certificate.gap",
    ),
    "rows that vanish": (
        lambda a: _funnel(a, 1, dropped=a["certificate"]["funnel"][1]["dropped"] + 1),
        "certificate.funnel.2",
    ),
    "rows left behind a proof": (
        lambda a: {"certificate": {**a["certificate"], "left": 1, "solved": 0}},
        "certificate.",
    ),
    "a slower uniform plan": (
        lambda a: {
            "certificate": {**a["certificate"], "uniform": 9 * a["certificate"]["objective"]}
        },
        "certificate.uniform",
    ),
    "no uniform plan": (
        lambda a: {"stages": {**a["stages"], "uniform": None}},
        "certificate.uniform",
    ),
    "no certificate": (lambda _: {"certificate": None}, "certificate"),
    "another layout": (lambda a: {"stages": {**a["stages"], "layout": "uniform"}}, "stages.layout"),
    "a bound below the best": (lambda a: _funnel(a, 1, lowest=1e-9), "certificate.funnel.2.lowest"),
    "a gap without a limit": (
        lambda a: {"certificate": {**a["certificate"], "status": "feasible"}},
        "certificate.status",
    ),
}


@each("name", FORGERIES)
def test_a_forged_certificate_is_refused(name: str, answer: Any, tmp_path: Path) -> None:
    change, where = FORGERIES[name]
    forged = written({**answer, **change(answer)}, tmp_path / "forged.json")
    lines = refused("report", forged, "-o", tmp_path / "page.html")
    assert any(f"forged.json: {where}" in line for line in lines), lines


@each("objective", ["energy", "edp"])
def test_other_objectives_have_certificates_too(objective: str, tmp_path: Path) -> None:
    found = solve(*PIPED, "--objective", objective)
    best = found["best"]
    value = {"energy": 1.0, "edp": best["step_time_s"]}[objective] * best["energy_per_step_j"]
    assert found["certificate"]["objective"] == pytest.approx(value, rel=1e-12)
    assert found["certificate"]["status"] == "optimal"
    assert found["certificate"]["uniform"] >= found["certificate"]["objective"] * (1 - 1e-9)
    assert {stage["unit"] for stage in found["certificate"]["funnel"]} == {"J"}
    steps = found["certificate"]["steps"]
    assert bool(steps) is (objective == "edp")
    products = [step["above_s"] * step["energy_j"] for step in steps]
    assert [step["product_js"] for step in steps] == pytest.approx(products, rel=1e-12)
    if objective == "edp":
        assert min([found["certificate"]["objective"], *products]) == pytest.approx(
            found["certificate"]["bound"], rel=1e-12
        )
    assert [step["within_s"] for step in steps[1:]] == [step["above_s"] for step in steps[:-1]]
    page = tmp_path / "page.html"
    assert planner("report", written(found, tmp_path / "a.json"), "-o", page).code == 0


def test_a_layout_that_is_given_is_that_of_the_best_plan() -> None:
    flags = replaced(JOB, "--layout", "Et*2|(t*3|)*2t*4L", "--front-points", "1", "--fix", "pp=4")
    found = solve(*flags)
    assert found["question"]["asked"]["layout"] == found["stages"]["layout"] == "2,3*2,4"
    assert [stage["layers"] for stage in found["best"]["stages"]] == [2, 3, 3, 4]
    assert found["best"]["mesh"]["pp"] * found["best"]["interleave"] == 4


def test_what_is_fixed_holds_for_every_stage() -> None:
    found = solve(*PIPED, "--fix", "sharding=zero1", "--fix", "recompute=full")
    stages = found["best"]["per_stage"]
    assert {stage["sharding"] for stage in stages} == {"zero1"}
    assert {stage["recompute"] for stage in stages if stage["layers"]} == {"full"}


def test_one_time_limit_is_the_fastest_plan_and_proved() -> None:
    found = solve(*replaced(PIPED, "--front-points", "1"))
    assert [point["step_time_s"] for point in found["front"]["plans"]] == [
        found["certificate"]["objective"]
    ]
    assert [point["proved"] for point in found["front"]["plans"]] == [True]
    assert found["front"]["limits"] == {"asked": 1, "proved": 1}
    assert found["front"]["note"].startswith("The fastest of plans on exactly 8 chips")


def test_a_gap_ends_the_search_within_it() -> None:
    found = solve(*PIPED, "--gap", "20%")
    assert found["certificate"]["gap"] <= 0.2
    if not found["front"]["complete"]:
        assert "by more than 20 %; none takes less at all for" in found["front"]["note"]
    assert found["certificate"]["status"] in ("optimal", "feasible")


@each(
    ("flags", "constraint", "words"),
    [
        (("--max-step-time", "1ms"), "max-step-time", "the fastest plan, whatever its stages,"),
        (("--max-memory", "100MB"), "memory", "too much"),
        (("--min-mfu", "99%"), "min-mfu", "reaches an MFU of"),
        (("--max-power", "10W"), "max-power", "of hosts, network and facility draw while"),
        (
            ("--max-power", "10W", "--power-boundary", "it"),
            "max-power",
            "with their share of hosts and network draw while",
        ),
        (("--layout", "2*3,3,3"), "layout", "no mesh of 8 chips runs a pipeline of 5 chunks"),
    ],
)
def test_what_cannot_be_says_why(flags: tuple[str, ...], constraint: str, words: str) -> None:
    outcome = planner("solve", *replaced(JOB, *flags), "--json")
    assert outcome.code == 3
    found = outcome.document["diagnosis"]
    assert found["constraint"] == constraint
    assert words in found["explanation"]
    assert found["remedies"]


def test_a_time_limit_without_a_plan_ends_with_4() -> None:
    assert planner("solve", *JOB, "--time-limit", "0.000001s").code == 4
