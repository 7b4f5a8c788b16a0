"""`--trace` on `solve`, `evaluate` and `explain`."""

import gzip
import json
from pathlib import Path

import pytest
from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused, solve


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The best plan of a small job, with a pipeline, and its trace beside it."""
    path = tmp_path_factory.mktemp("trace") / "plan.yaml"
    solve(*SMALL, "--fix", "pp=2", "-o", path, "--trace", path.with_name("solved.json"))
    return path


def test_solve_and_evaluate_write_the_same_trace(plan_file: Path, tmp_path: Path) -> None:
    solved = json.loads(plan_file.with_name("solved.json").read_text(encoding="utf-8"))
    path = tmp_path / "evaluated.json.gz"
    outcome = planner("evaluate", plan_file, "--trace", path, "--json")
    assert outcome.code == 0, outcome.err
    evaluated = json.loads(gzip.decompress(path.read_bytes()))
    assert evaluated["traceEvents"] == solved["traceEvents"]
    other = evaluated["otherData"]
    assert other["modelled_step_time_s"] == outcome.document["step_time_s"]
    assert other["versions"] == outcome.document["versions"]
    assert other["plan"]["mesh"]["pp"] == 2
    ends = [e["ts"] + e["dur"] for e in evaluated["traceEvents"] if e["ph"] == "X"]
    assert max(ends) == pytest.approx(1e6 * other["simulated_step_time_s"])


def test_explain_writes_that_trace_too(plan_file: Path, tmp_path: Path) -> None:
    solved = json.loads(plan_file.with_name("solved.json").read_text(encoding="utf-8"))
    trace, plot = tmp_path / "explained.json", tmp_path / "explained.svg"
    outcome = planner("explain", plan_file, "--trace", trace, "--plot", plot)
    assert outcome.code == 0, outcome.err
    assert json.loads(trace.read_text(encoding="utf-8"))["traceEvents"] == solved["traceEvents"]
    assert "<svg" in plot.read_text(encoding="utf-8")
    (line,) = refused("explain", plan_file, "--trace", tmp_path / "step.jsn")
    assert "a trace is written as .json or .json.gz" in line
    (line,) = refused("explain", plan_file, "--trace", plan_file)
    assert "trace" in line
    (line,) = refused("explain", plan_file, "--plot", plot, "--trace", plot)
    assert "--plot too" in line


@each("ending", ["svg", "html"])
def test_a_trace_may_be_a_picture(plan_file: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"step.{ending}"
    assert planner("evaluate", plan_file, "--trace", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "forward pass of micro-batch 0" in text
    assert "step time of the cost model" in text


def test_a_trace_may_be_a_png(plan_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "step.png"
    assert planner("evaluate", plan_file, "--trace", path).code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_wrong_files_are_refused_before_anything_is_written(
    plan_file: Path, tmp_path: Path
) -> None:
    for command in (("evaluate", plan_file), ("solve", *SMALL)):
        (line,) = refused(*command, "--trace", tmp_path / "step.jsn")
        assert "a trace is written as .json or .json.gz" in line
        assert "did you mean '.json'?" in line
        (line,) = refused(*command, "--trace", tmp_path / "nowhere" / "step.json")
        assert "cannot be written" in line
    front = tmp_path / "front.json"
    both = ("--pareto", front, "--trace", front)
    assert refused("solve", *SMALL, *both) == [
        f"trace: {front} is the file of --pareto too; name another"
    ]
    drawn = tmp_path / "plan.svg"
    for command in (("evaluate", plan_file), ("solve", *SMALL)):
        (line,) = refused(*command, "--plot", drawn, "--trace", drawn)
        assert line == f"trace: {drawn} is the file of --plot too; name another"
    assert not list(tmp_path.iterdir())


def test_a_front_is_not_overwritten_by_the_trace_of_its_plan(tmp_path: Path) -> None:
    front = tmp_path / "front.json"
    solve(*SMALL, "--pareto", front)
    before = front.read_bytes()
    (line,) = refused("evaluate", front, "--row", "1", "--trace", front)
    assert line == f"trace: {front} is the plan file that is read; name another"
    assert front.read_bytes() == before


def test_nothing_is_written_where_no_plan_fits(tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    outcome = planner(
        "solve", "--model", "gpt3-175b", "--hardware", "h100-sxm5-80", "--chips", "8",
        "--trace", path,
    )  # fmt: skip
    assert outcome.code == 3
    assert not path.exists()
