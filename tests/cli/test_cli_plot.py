"""`--plot` of solve and evaluate: the pictures, and what is not written."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, solve

TINY = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "4")
TITLES = ("Step time", "Energy per step", "Memory of the fullest chip", "Memory per chip", "mesh")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, and the pictures of its answer."""
    path = tmp_path_factory.mktemp("plots")
    solve(*TINY, "-o", path / "plan.yaml", "--plot", path / "all.svg", "--pareto", path / "f.svg")
    return path


def titles(path: Path) -> str:
    """The titles of the charts of an SVG."""
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return "\n".join(title.text or "" for title in root.iter(f"{SVG}title"))


def test_solve_draws_the_front_and_the_best_plan(folder: Path) -> None:
    named = titles(folder / "all.svg")
    for title in ("Exact Pareto front", *TITLES):
        assert title in named
    assert "Step time" not in titles(folder / "f.svg"), "the front alone"


def test_evaluate_draws_the_plan(folder: Path) -> None:
    path = folder / "plan.svg"
    outcome = planner("evaluate", folder / "plan.yaml", "--plot", path)
    assert (outcome.code, outcome.err) == (0, "")
    named = titles(path)
    assert "Pareto" not in named
    for title in TITLES:
        assert title in named


def test_a_plan_with_a_pipeline_has_its_timeline(folder: Path) -> None:
    path, plan = folder / "piped.svg", folder / "piped.yaml"
    solve(*TINY, "--fix", "pp=2", "-o", plan, "--plot", path)
    assert "Pipeline timeline" in titles(path)
    assert planner("evaluate", plan, "--plot", path).code == 0
    assert "Pipeline timeline" in titles(path)
    assert "Pipeline timeline" not in titles(folder / "all.svg"), "one stage has none"


def test_pages(folder: Path) -> None:
    page = folder / "plan.html"
    assert planner("evaluate", folder / "plan.yaml", "--plot", page, "--json").code == 0
    whole = folder / "all.html"
    solve(*TINY, "--plot", whole)
    for path in (page, whole):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("<!doctype html>")
        for title in TITLES:
            assert title in text
    assert "Exact Pareto front" in whole.read_text(encoding="utf-8")


def test_png(folder: Path) -> None:
    plan, whole = folder / "plan.png", folder / "all.png"
    assert planner("evaluate", folder / "plan.yaml", "--plot", plan).code == 0
    solve(*TINY, "--plot", whole)
    for path in (plan, whole):
        assert path.read_bytes().startswith(b"\x89PNG")


def test_without_a_plan_nothing_is_drawn(tmp_path: Path) -> None:
    outcome = planner("solve", "--model", "llama3-70b", "--hardware", "h100-sxm5-80",
                      "--chips", "1", "--plot", tmp_path / "no.svg", "--pareto",
                      tmp_path / "no.json", "--trace", tmp_path / "trace.json",
                      "-o", tmp_path / "no.yaml")  # fmt: skip
    assert outcome.code == 3
    assert outcome.err.splitlines() == [
        f"output: {tmp_path}/no.yaml is not written: nothing to write, there is no plan",
        f"pareto: {tmp_path}/no.json is not written: the front is empty, there is no plan",
        f"plot: {tmp_path}/no.svg is not written: nothing to draw, there is no plan",
        f"trace: {tmp_path}/trace.json is not written: nothing to write, there is no plan",
    ]
    assert list(tmp_path.iterdir()) == []


@each(
    ("name", "said"),
    [
        ("plan.pdf", ".svg, .png or .html"),
        ("plan.htm", "did you mean '.html'?"),
        ("plan", ".svg, .png or .html"),
        ("none/plan.svg", "cannot be written"),
    ],
)
@each("command", ["solve", "evaluate"])
def test_wrong_files(command: str, name: str, said: str, folder: Path, tmp_path: Path) -> None:
    question = TINY if command == "solve" else (folder / "plan.yaml",)
    outcome = planner(command, *question, "--plot", tmp_path / name)
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert "plot" in outcome.err or "cannot be written" in said
    assert len(outcome.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_one_file_for_two_answers(tmp_path: Path) -> None:
    path = tmp_path / "front.svg"
    outcome = planner("solve", *TINY, "--pareto", path, "--plot", path)
    assert outcome.code == 2
    assert "is the file of --pareto too" in outcome.err
    assert not path.exists()


def test_a_picture_does_not_replace_the_plan(folder: Path, tmp_path: Path) -> None:
    plan = folder / "plan.yaml"
    link = tmp_path / "plan.svg"
    link.symlink_to(plan)
    before = plan.read_text(encoding="utf-8")
    outcome = planner("evaluate", plan, "--plot", link)
    assert outcome.code == 2
    assert "is the plan file that is read" in outcome.err
    assert plan.read_text(encoding="utf-8") == before
