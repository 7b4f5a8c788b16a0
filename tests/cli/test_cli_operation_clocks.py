"""`--clocks per-operation` of `planner evaluate` and `solve`: what is printed, written, refused."""

import ast
import json
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused
from planner import InputError, evaluate
from solvers.operations import shortest

PLAN_FILE = """schema_version: 1
job: {model: gpt3-125m, hardware: dgx-h100-ndr, batch_tokens: 16384, framework: megatron}
plan: {mesh: {pp: 2}, schedule: 1f1b, sharding: ddp}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN_FILE)
    return path


def test_the_command_prints_and_writes_them(plan: Path, tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    some = ("evaluate", plan, "--clocks", "per-operation", "--switching-time", "0s")
    clocks = planner(*some, "--json", "--frequencies", file).document["operation_clocks"]
    assert clocks["switching_s"] == 0
    assert clocks["used"]
    assert len(clocks["stages"]) == len(ast.literal_eval(file.read_text(encoding="utf-8"))) == 2
    assert [len(row) for row in clocks["stages"]] == [16, 16]
    text = planner(*some, "--show", "clocks").out
    assert "Clocks per operation in the same simulated time" in text
    assert "this answer has none" in planner("evaluate", plan, "--show", "clocks").out


def test_what_saves_too_little_is_not_used(plan: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.svg"
    some = ("evaluate", plan, "--clocks", "per-operation", "--switching-time", "50ms")
    done = planner(*some, "--trace", trace)
    assert "so they stay per stage" in " ".join(done.out.split())
    assert "run below the clock 1." in trace.read_text(encoding="utf-8")


@each(
    ("flags", "words"),
    [
        (("--clocks", "levels"), "clocks: 'levels' is not per-operation"),
        (("--frequencies", "f.py"), "frequencies: has no effect without --clocks"),
        (("--switching-time", "1ms"), "switching-time: has no effect without --clocks"),
        (("--clocks", "per-operation", "--switching-time", "2s"), "nearest: 1s"),
        (("--clocks", "per-operation", "--switching-time", "nan"), "switching-time"),
        (("--clocks", "per-operation", "--frequencies", "f.json"), "from a .py file"),
        (("--clocks", "per-operation", "--frequencies", "/no/f.py"), "/no"),
        (("--max-power", "2kW"), "max-power: has no effect without --clocks per-operation"),
        (("--power-boundary", "node"), "power-boundary: has no effect without --clocks"),
        (("--clocks", "per-operation", "--power-boundary", "node"), "without max-power"),
        (("--clocks", "per-operation", "--max-power", "9kW"), "cannot change the step: at most 2."),
        (("--clocks", "per-operation", "--max-power", "-1W"), "max-power"),
    ],
)
def test_what_cannot_be_is_refused(plan: Path, flags: tuple[str, ...], words: str) -> None:
    (line,) = refused("evaluate", plan, *flags)
    assert words in line
    assert [one.name for one in plan.parent.iterdir()] == ["plan.yaml"]


def test_a_limit_of_python_without_clocks_is_refused(plan: Path) -> None:
    with pytest.raises(InputError, match="max-power: has no effect without clocks per-operation"):
        evaluate(plan, max_power="1.7kW")


def test_a_limit_on_power_at_every_moment(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is drawn is added up again from the trace; the frequency plan says what it lacks."""
    monkeypatch.setattr(shortest, "_WORK", 30_000)
    trace, file = tmp_path / "trace.json", tmp_path / "f.py"
    some = ("evaluate", plan, "--clocks", "per-operation", "--switching-time", "0s")
    some = (*some, "--max-power", "1.7kW", "--power-boundary", "node_and_fabric")
    written = ("--trace", trace, "--frequencies", file)
    limited = planner(*some, *written, "--json").document["operation_clocks"]["under_power"]
    found = limited["found"]
    assert limited["limit_w"] == 1700
    assert found["bound_s"] <= found["step_time_s"] <= limited["one_clock"]["step_time_s"]
    assert limited["needed_w"] <= found["most_w"] <= 1700 * (1 + 1e-9)
    assert limited["as_it_is"]["most_w"] > 1700
    assert limited["as_it_is"]["step_time_s"] <= found["bound_s"] * (1 + 1e-9)
    begins = [[one[-1] for one in row] for row in found["stages"]]
    assert all(row == sorted(row) for row in begins)
    drawn = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    ends = max(one["ts"] + one["dur"] for one in drawn) / 1e6
    assert ends == pytest.approx(found["step_time_s"], rel=1e-4)
    assert "Passes that pause" in file.read_text(encoding="utf-8")
    text = " ".join(planner(*some, "--show", "clocks").out.split())
    assert "Under a limit on power at every moment, simulated" in text
    assert "a step with clocks and pauses" in " ".join(planner(*some).out.split())


def test_where_one_pass_draws_too_much_no_schedule_fits(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit that is named has one."""
    monkeypatch.setattr(shortest, "_WORK", 1_000)
    some = ("evaluate", plan, "--clocks", "per-operation", "--max-power")
    said = planner(*some, "1kW")
    text = " ".join(said.out.split())
    assert said.code == 3
    assert "no schedule fits (proved)" in text
    least = text.split("--max-power ")[1].split()[0]
    why = f"no schedule keeps to max-power; --max-power {least} has one\n"
    assert said.err == f"error: max-power: {why}"
    none = planner(*some, "1kW", "--json")
    assert (none.code, none.err) == (3, said.err)
    assert none.document["operation_clocks"]["under_power"]["found"] is None
    unwritten = planner(*some, "1kW", "--trace", tmp_path / "t.json")
    assert (unwritten.code, unwritten.out) == (3, "")
    assert unwritten.err == f"error: trace: {why}"
    assert [one.name for one in tmp_path.iterdir()] == ["plan.yaml"]
    limited = planner(*some, least, "--json").document["operation_clocks"]["under_power"]
    assert limited["found"]["bound_s"] <= limited["found"]["step_time_s"]
    assert limited["found"]["most_w"] <= limited["limit_w"]


def test_solve_says_what_they_save_on_its_front() -> None:
    some = ("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 4,
            "--batch-tokens", 8192, "--seq-len", 1024, "--fix", "pp=2")  # fmt: skip
    text = " ".join(planner(*some, "--clocks", "per-operation", "--show", "clocks").out.split())
    assert "Clocks per operation within the step times of the front" in text
    assert "are proved to 0.2 %" in text
    screen = " ".join(planner(*some, "--clocks", "per-operation").out.split())
    assert "No plan with any clocks saves more than" in screen


@each(
    ("flags", "words"),
    [
        (
            ("--clocks", "levels"),
            "clocks: 'levels' is not on or per-operation; --no-clocks turns them off",
        ),
        (
            ("--clocks", "per-operation", "--no-clocks"),
            "--clocks 'per-operation' and --no-clocks contradict one another; leave one out",
        ),
        (("--clocks", "per-operation", "--layout", "uneven"), "planner evaluate --clocks"),
    ],
)
def test_solve_refuses_other_words(flags: tuple[str, ...], words: str) -> None:
    (line,) = refused("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80",
                      "--chips", 4, *flags)  # fmt: skip
    assert words in line


def test_clocks_are_turned_off_as_before() -> None:
    asked = ("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 4)
    question = planner(*asked, "--no-clocks", "--json").document["question"]["asked"]
    assert question["clocks"] is False
