"""What people read in a terminal: every figure with its unit, and the same figures as the JSON."""

import dataclasses
import io
import re
from typing import Any

import pytest
from cli.command import planner as command
from rich.console import Console, Group
from support.cases import each

import planner
from planner.base.printable import Shown
from planner.base.units import show_bytes, show_joules, show_seconds
from planner.plan import Plan, Stage
from planner.report.tables.breakdown import stage_view
from planner.report.tables.scatter import HEIGHT, WIDTH, scatter
from planner.report.tables.sections import evaluate_view, solve_view
from planner.results.result import SolveResult
from planner.results.words import mesh_words, placement_words, plan_rows, schedule_words

QUESTION: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8}


@pytest.fixture(scope="module")
def answer() -> SolveResult:
    """The answer to a small question, with a whole run."""
    return planner.solve(**QUESTION, train_tokens=3e11, price_per_chip_hour=2.0,
                         carbon_intensity=400.0)  # fmt: skip


def printed(view: Any, width: int = 110) -> str:
    """What a view prints."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(view)
    return out.getvalue()


def words(text: str) -> str:
    """Text without the frames and line breaks."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def test_the_answer_holds_the_promised_parts(answer: SolveResult) -> None:
    said = words(printed(solve_view(answer)))
    assert answer.best is not None
    for needed in (
        "Best plan", "step time", "MFU", "memory per chip", "energy per step", "power",
        "Proved optimal", "Why this plan", "Pareto front", "Candidates", "Assumed",
        "Whole training run", "one step away",
        show_seconds(answer.best.step_time_s), show_joules(answer.best.energy_per_step_j),
        show_bytes(answer.best.memory_per_chip_bytes), mesh_words(answer.best.plan),
        answer.front.note, *answer.notes.why,
    ):  # fmt: skip
        assert " ".join(needed.split()) in said, needed


def test_every_default_is_printed(answer: SolveResult) -> None:
    said = words(printed(solve_view(answer)))
    for name, value, reason in answer.notes.defaults:
        assert name in said
        assert value in said
        assert reason in said


def test_shares_add_up_to_the_whole(answer: SolveResult) -> None:
    assert answer.best is not None
    for parts in (answer.best.time_s, answer.best.energy_j, answer.best.memory_bytes):
        total = sum(parts.values())
        assert sum(round(100 * part / total, 1) for part in parts.values()) == pytest.approx(
            100, abs=0.4
        )


def test_the_run_has_units(answer: SolveResult) -> None:
    said = words(printed(solve_view(answer)))
    assert re.search(r"time [\d.,]+ (days|h|d)\b", said)
    assert re.search(r"energy [\d.,]+ (MWh|GWh|kWh)", said)
    assert re.search(r"CO2 [\d.,]+ t\b", said)
    assert re.search(r"tokens 300 G", said)
    assert re.search(r"price [\d,]+", said)


def test_headings_are_not_wrapped() -> None:
    found = planner.solve(**QUESTION, train_tokens=2e9)
    lines = [line.strip() for line in printed(solve_view(found)).splitlines()]
    assert "Whole training run" in lines, "broken over two lines by a narrow table"


def test_long_runs_are_in_plain_numbers() -> None:
    """27,900 days, not 2.79e+04 days."""
    found = planner.solve(**QUESTION, train_tokens=5e15)
    said = words(printed(solve_view(found)))
    days = re.search(r"Whole training run .*?time (\S+) days", said)
    assert days, "no days"
    assert "e+" not in days[1], days[0]


def test_no_figure_is_in_scientific_notation(answer: SolveResult) -> None:
    assert answer.best is not None
    text = printed(solve_view(answer)) + printed(
        evaluate_view(planner.evaluate(answer.best.plan, **QUESTION))
    )
    assert not re.search(r"\de[+-]\d", text)


def test_evaluate_says_whether_the_plan_fits(answer: SolveResult) -> None:
    """The help promises `whether it fits`; silence is not an answer."""
    assert answer.best is not None
    good = words(printed(evaluate_view(planner.evaluate(answer.best.plan, **QUESTION))))
    assert re.search(r"\bfits\b", good)
    plan = planner.Plan(dp=8, sequence_parallel=False)
    bad = planner.evaluate(plan, **{**QUESTION, "model": "llama2-70b"})
    assert re.search(r"Warning: memory: .* of 74\.6 GB", words(printed(evaluate_view(bad))))


def test_a_plan_with_offload_shows_the_memory_of_the_host() -> None:
    found = planner.solve(
        model="llama2-13b", hardware="a100-sxm4-80", chips=8, offload=True,
        clocks=False, axes=["tp", "dp"],
    )  # fmt: skip
    assert found.best is not None
    assert found.best.plan.offload
    said = words(printed(solve_view(found)))
    assert show_bytes(found.best.host_memory_bytes) in said


def test_one_is_singular() -> None:
    """`1 sequences, 1 per step` reads like a bug."""
    found = planner.solve(model="llama2-13b", chips=64, fix={"micro_batch": 1})
    assert found.best is not None
    rows = dict(plan_rows(found.best))
    assert not rows["micro-batch"].startswith("1 sequences")


def test_the_uncertainty_says_what_it_is(answer: SolveResult) -> None:
    """`772 kJ +- 192 kJ`: one standard deviation, a range, 95 %? The reader must know."""
    said = words(printed(solve_view(answer)))
    assert re.search(r"intervals hold 80 % \(10 % to 90 % quantile\)", said)


def test_a_long_front_is_shortened() -> None:
    found = planner.solve(**QUESTION, front=["time", "energy", "memory"])
    assert len(found.front) > 12, "chosen to be long"
    said = printed(solve_view(found))
    assert f"{len(found.front) - 12} more" in said


def test_a_front_of_three_objectives_is_called_so() -> None:
    found = planner.solve(**{**QUESTION, "chips": 2}, front=["time", "energy", "memory"])
    said = words(printed(solve_view(found)))
    assert re.search(r"[Ff]ront of time, energy,? and memory", said)


def test_no_plan_in_time() -> None:
    found = planner.solve(model="llama2-13b", chips=4096, time_limit=0.001)
    said = words(printed(solve_view(found)))
    assert "No plan was found before the time limit" in said


@each("width", [60, 80, 110, 200])
def test_any_width(width: int, answer: SolveResult) -> None:
    assert max(len(line) for line in printed(solve_view(answer), width).splitlines()) <= width


@each("width", [60, 80, 120])
def test_figures_and_names_are_never_broken(width: int, answer: SolveResult) -> None:
    """A narrow terminal gets tables below each other, not tables of fragments."""
    text = printed(solve_view(answer), width)
    assert "…" not in text
    assert answer.best is not None
    for name in answer.best.time_s:
        if answer.best.time_s[name] > 0:
            assert re.search(rf"^ *{name.replace('_', ' ')} .*%", text, re.M), name
    for point in (answer.front[0], answer.front[-1]):
        row = f"{show_seconds(point.step_time_s)} +{show_joules(point.energy_per_step_j)}"
        assert re.search(row, text)


@each("width", [40, 60, 110])
def test_stages_keep_their_units_in_a_narrow_terminal(width: int) -> None:
    stages = tuple(
        Stage(layers=layers, sharding=sharding, selective=(count, 0))
        for layers, sharding, count in ((5, "zero1", 2), (7, "ddp", 0))
    )
    plan = Plan(dp=4, pp=2, sharding="zero1", stages=stages)
    result = planner.evaluate(plan, **QUESTION)
    assert result.facts is not None
    text = printed(Group(*stage_view(result.facts)), width)
    for stage in result.facts.stages:
        for value in (show_bytes(stage.total_bytes), show_seconds(stage.forward_s),
                      show_seconds(stage.backward_s), stage.sharding):  # fmt: skip
            assert value in text


@each("text", ["[red]x", "a [/bold] b", ":smile:", "[[x]]", "\\[x]"])
def test_text_of_users_is_not_markup(text: str, answer: SolveResult) -> None:
    """File names end up among the defaults, losses and warnings."""
    said = {"losses": (text,), "defaults": ((text, text, text),), "why": (text,),
            "caveats": (text,)}  # fmt: skip
    job = {**answer.question.job, "model": text}
    odd = dataclasses.replace(
        answer,
        question=dataclasses.replace(answer.question, job=job),
        notes=dataclasses.replace(answer.notes, **said),
        front=dataclasses.replace(answer.front, note=text),
    )
    assert printed(solve_view(odd)).count(text) >= 7
    assert odd.show().count(text) >= 7
    assert str(odd).count(text) >= 5


def test_every_answer_is_shown_as_it_prints() -> None:
    """Not as `dataclass` would show it."""
    kinds = Shown.__subclasses__()
    assert {"VaryResult", "PlanResult", "ExplainResult"} <= {kind.__name__ for kind in kinds}
    assert [kind for kind in kinds if kind.__repr__ is not Shown.__repr__] == []


def test_results_print_as_the_command_does(answer: SolveResult) -> None:
    assert "Best plan" in answer.show()
    assert "Exact Pareto front" in answer.show()
    assert repr(answer) == str(answer)
    assert len(repr(answer)) < 3000, "a notebook shows it where HTML is not possible"
    assert answer.best is not None
    assert show_seconds(answer.best.step_time_s) in str(answer.best)
    again = planner.evaluate(answer.best.plan, **QUESTION)
    assert "The plan fits" in again.show()
    assert "fits: " in str(again)


def test_words() -> None:
    plan = planner.Plan(dp=8, fsdp=128, tp=2, sharding="zero3")
    assert mesh_words(plan) == "dp 8 x fsdp 128 x tp 2"
    assert mesh_words(planner.Plan()) == "one chip"
    assert schedule_words(plan) == "no pipeline"
    assert schedule_words(planner.Plan(pp=4)) == "1f1b"
    assert schedule_words(planner.Plan(pp=4, schedule="interleaved", interleave=2)) == (
        "interleaved 2"
    )


def test_placement_names_axes_innermost_first(answer: SolveResult) -> None:
    found = planner.solve(model="llama2-70b", hardware="h100-sxm5-80", chips=64,
                          fix={"tp": 8, "pp": 4})  # fmt: skip
    assert found.best is not None
    assert placement_words(found.best).startswith("tp on nvlink; ")


def test_scatter_puts_points_at_their_places() -> None:
    text = scatter([0.0, 1.0, 2.0], [2.0, 1.0, 0.0], ["a", "b", "c"], x_label="x", y_label="y",
                   x_ends=("0", "2"), y_ends=("0", "2"))  # fmt: skip
    rows = [line.split("|")[1] for line in text.splitlines() if "|" in line]
    assert len(rows) == HEIGHT
    assert all(len(row) == WIDTH for row in rows)
    assert rows[0][0] == "a"
    assert rows[-1][-1] == "c"
    middle = [(i, row.index("b")) for i, row in enumerate(rows) if "b" in row]
    assert middle[0][0] in (5, 6)
    assert middle[0][1] in (27, 28)
    assert sum(row.count(mark) for row in rows for mark in "abc") == 3


def test_scatter_of_equal_values_is_in_the_middle() -> None:
    text = scatter([1.0], [1.0], ["*"], x_label="x", y_label="y", x_ends=("1", "1"),
                   y_ends=("1", "1"))  # fmt: skip
    assert text.count("*") == 1


def test_the_best_plan_is_never_hidden_in_the_plot() -> None:
    """Points that share a cell: the star must win."""
    outcome = command("solve", "--model", "llama3.1-8b", "--hardware", "h100-sxm5-80",
                      "--chips", "512", "--axes", "tp,pp,dp", "--show", "front")  # fmt: skip
    assert outcome.code == 0
    plot = [
        line.split("|", 1)[1]
        for line in outcome.out.splitlines()
        if re.match(r"[ \d.a-zA-Z]* \|", line)
    ]
    assert len(plot) == HEIGHT
    assert sum(line.count("*") for line in plot) == 1
