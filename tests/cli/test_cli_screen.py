"""The one screen: thirty jobs within their lines, with commands that run as they are printed."""

import functools
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from support.cases import each
from typer.main import get_command

import planner as library
from cli.command import planner, refused
from planner.base.units import show_seconds
from planner.cli.main import app
from planner.frameworks.registry import FRAMEWORKS
from planner.question.asked.flags import flags_of
from planner.report.section_names import EVALUATE, SOLVE
from planner.report.tables.bar import bar, lettered
from planner.report.tables.likely import interval_words
from planner.report.tables.next_commands import Asking
from planner.report.tables.screen import SAID_OF_A_PLAN, solve_screen
from planner.report.tables.tables import text_of
from planner.results.result import SolveResult
from planner.results.words import choice_words, mesh_words

MOST_LINES = {80: 40, 120: 34}
SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")


def _jobs() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "jobs.py"
    spec = importlib.util.spec_from_file_location("jobs_of_benchmarks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.dict(sys.modules, {spec.name: module}):
        spec.loader.exec_module(module)
    return module


JOBS: dict[str, str] = _jobs().SCREENS


class Answer(NamedTuple):
    """An answer, how it was asked, and the exit code."""

    result: SolveResult
    asking: Asking
    code: int


@functools.cache
def asked(name: str) -> Answer:
    """The answer to one of the jobs."""
    seen: list[tuple[SolveResult, Asking]] = []

    def keep(result: SolveResult, asking: Asking, _: object, **__: object) -> None:
        seen.append((result, asking))

    with patch("planner.cli.solving.print_solved", keep):
        outcome = planner("solve", *shlex.split(JOBS[name]))
    assert seen, outcome.err
    return Answer(*seen[0], outcome.code)


@functools.cache
def screen(name: str, width: int) -> list[str]:
    """The lines of the screen of one of the jobs."""
    answer = asked(name)
    return text_of(solve_screen(answer.result, answer.asking), width).splitlines()


def rows(lines: list[str]) -> dict[str, str]:
    """Names to their lines, in one."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        name = line[:12].strip() or name if len(line) > 12 and line[:12].endswith("  ") else ""
        if name:
            found.setdefault(name, []).append(line[12:])
    return {name: "\n".join(texts) for name, texts in found.items()}


def commands(lines: list[str]) -> list[list[str]]:
    """The commands that go on, as words."""
    text = rows(lines)["next"].replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines()]


def test_there_are_thirty_jobs_of_every_kind() -> None:
    assert len(JOBS) == 30
    frameworks = {asked(name).result.question.job["framework"] for name in JOBS}
    assert frameworks == {*FRAMEWORKS}


@each("name", JOBS)
def test_the_screen_is_within_its_lines(name: str) -> None:
    for width, most in MOST_LINES.items():
        lines = screen(name, width)
        assert len(lines) <= most, "\n".join(lines)
        assert max(map(len, lines)) <= width, "\n".join(lines)


@each("name", JOBS)
def test_the_screen_says_the_plan_how_sure_it_is_and_what_was_assumed(name: str) -> None:
    answer = asked(name)
    said = rows(screen(name, 80))
    best, caveats = answer.result.best, " ".join(answer.result.notes.caveats)
    assumed = " ".join(said["assumed"].split())
    assert len(said["assumed"].splitlines()) <= 2
    for key, value, _ in answer.result.notes.defaults:
        words = f"{key} {value.partition(' = ')[0]}"
        noted = key in SAID_OF_A_PLAN and best is not None
        if words not in assumed and not noted:
            assert re.search(r", and \d more \(--show assumed\)$", assumed), words
            assert best is None
        risk = (f"Above {value} risk", "of any risk of memory")
        assert not (noted and key == "max-oom-risk") or any(said in caveats for said in risk)
    if best is None:
        assert answer.code == 3
        text = " ".join(" ".join(screen(name, 80)).split())
        assert answer.result.diagnosis is not None
        assert " ".join(answer.result.diagnosis.explanation.split()) in text
        return
    plan = " ".join(said["plan"].split())
    assert f"{mesh_words(best.plan)}; {choice_words(best.plan)}" in plan
    assert said["step time"].startswith(show_seconds(best.step_time_s))
    if best.step_time_low_s is None or best.step_time_high_s is None:
        assert "no interval" in said["step time"]
    else:
        ends = interval_words(best.step_time_low_s, best.step_time_high_s, show_seconds)
        assert f"(80 %: {ends})" in said["step time"]
    for line in answer.result.notes.caveats:
        assert line in " ".join(said["note"].split())


def explained_jobs() -> set[str]:
    """A third of the jobs of each layout, whose plan the commands explain: that takes long."""
    layouts: dict[tuple[bool, ...], list[str]] = {}
    for name, flags in JOBS.items():
        layout = tuple(flag in flags for flag in ("--layout", "--pools", "--pes"))
        layouts.setdefault(layout, []).append(name)
    return {name for names in layouts.values() for name in names[::3]}


def run_for(name: str, words: list[str]) -> list[str]:
    """A printed command as it runs for a job: for most no plan is explained, on no page either."""
    if name in explained_jobs():
        return words
    if words[1] == "explain":
        return []
    return words[:-2] if words[-2:] == ["--plot", "report.html"] else words


@each("name", JOBS)
def test_every_printed_command_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder, one after the other, as they are printed."""
    monkeypatch.chdir(tmp_path)
    found = commands(screen(name, 80))
    assert found == commands(screen(name, 120))
    best = asked(name).result.best
    assert all(words[0] == "planner" for words in found)
    for words in filter(None, (run_for(name, line) for line in found)):
        shown = ["--json"] if words[1] in ("solve", "evaluate") else []
        outcome = planner(*words[1:], *shown)
        assert outcome.code == 0, (words, outcome.err)
        if words[1] == "solve" and best is not None:
            costs = outcome.document["best"]
            assert costs["step_time_s"] == best.step_time_s
            assert costs["energy_per_step_j"] == best.energy_per_step_j
    assert (tmp_path / "plan.yaml").exists()


def test_most_jobs_can_be_exported() -> None:
    exported = [name for name in JOBS if any(w[1] == "export" for w in commands(screen(name, 80)))]
    assert {"megatron", "torchtitan", "deepspeed", "nanotron", "jax on GPUs", "TPU"} <= {*exported}
    assert "pools" not in exported


def test_commands_name_the_files_that_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my job.yaml").write_text("model: gpt3-125m\nhardware: h100-sxm5-80\n", encoding="utf-8")
    first = planner("solve", "my job.yaml", "--chips", "8").out.splitlines()
    assert commands(first)[0][:5] == ["planner", "solve", "my job.yaml", "--chips", "8"]
    saved = planner("solve", "my job.yaml", "--chips", "8", "-o", "a plan.yaml").out.splitlines()
    assert [words[:3] for words in commands(saved)] == [
        ["planner", "export", "a plan.yaml"], ["planner", "explain", "a plan.yaml"],
        ["planner", "evaluate", "a plan.yaml"],
    ]  # fmt: skip
    for words in commands(saved):
        assert planner(*words[1:]).code == 0, words


def test_commands_go_on_from_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        planner("solve", *SMALL, "-o", "plan.yaml", "--pareto", "front.json", "--quiet").code == 0
    )
    for asking in (["plan.yaml"], ["front.json", "--row", "2"],
                   ["plan.yaml", "--hardware", "h200-sxm5-141"]):  # fmt: skip
        lines = planner("evaluate", *asking).out.splitlines()
        assert len(lines) <= MOST_LINES[120]
        for words in commands(lines):
            assert planner(*words[1:]).code == 0, words


def test_a_remedy_replaces_the_flag_that_it_names() -> None:
    (words,) = commands(screen("infeasible, time", 80))
    assert words.count("--max-step-time") == 1
    assert words[words.index("--max-step-time") + 1] != "1ms"


def test_the_bar_is_as_long_as_there_is_room() -> None:
    parts = lettered({"compute": 0.5, "collectives": 0.3, "c": 0.15, "host": 0.05})
    assert [mark for mark, _, _ in parts] == ["c", "o", "?", "h"]
    for columns in (20, 68, 108):
        drawn = bar(parts, columns)
        assert len(drawn) == columns
        for mark, _, share in parts:
            assert abs(drawn.count(mark) - share * (columns - 2)) <= 1
    assert lettered({f"{letter}": 1 / 8 for letter in "abcdefgh"})[-1][1] == "rest"


def test_show_prints_sections_after_the_job_and_the_plan() -> None:
    lines = planner("solve", *SMALL, "--show", "memory,time").out.splitlines()
    assert lines[0].startswith("gpt3-125m (125.2 M parameters) on 8 x h100-sxm5-80")
    assert lines[1].startswith("Plan: dp 8; zero1")
    text = "\n".join(lines)
    assert "Time (slowest stage)" in text
    assert "Memory (fullest chip)" in text
    assert "Energy (split assumed)" not in text
    assert "Why this plan" not in text


def test_a_section_that_the_answer_has_not_is_said_to_be_absent() -> None:
    lines = planner("solve", *SMALL, "--show", "pools,run").out.splitlines()
    assert [line for line in lines if "this answer has none" in line] == [
        f"{name}: this answer has none ({SOLVE[name]})." for name in ("pools", "run")
    ]
    assert "this answer has none" not in planner("solve", *SMALL, "--show", "all").out


def test_a_section_of_a_plan_says_that_none_fits() -> None:
    asked = ("solve", "--model", "llama3-70b", "--hardware", "h100-sxm5-80", "--chips", "1",
             "--train-tokens", "1e12")  # fmt: skip
    found = planner(*asked, "--show", "pools,time,run")
    assert found.code == 3
    assert [line for line in found.out.splitlines() if "none (" in line] == [
        f"time: no plan fits, so there is none ({SOLVE['time']}).",
        f"pools: this answer has none ({SOLVE['pools']}).",
        f"run: no plan fits, so there is none ({SOLVE['run']}).",
    ]


def test_every_section_has_something_to_print() -> None:
    """Of one of the jobs each, and `all` has them all."""
    kinds = {
        "pools": "pools", "machines": "machines", "run": "mixture of experts, whole run",
        "stages": "megatron, pipeline",
    }  # fmt: skip
    for name in (one for one in SOLVE if one != "clocks"):  # asked for by a flag of its own
        result = asked(kinds.get(name, "three objectives")).result
        text = result.show(name)
        assert "this answer has none" not in text, name
        last = text.rstrip().splitlines()[-1]
        assert last in result.show("all"), name


def test_what_the_step_time_leans_on_is_found_where_it_is_asked_for_alone() -> None:
    with patch("planner.answers.explained.leaning_of") as leaning:
        for flags in ([], ["--show", "time,why"], ["--quiet"]):
            assert planner("solve", *SMALL, *flags).code == 0
        leaning.assert_not_called()
    assert "What the step time leans on" in planner("solve", *SMALL, "--show", "leaning").out


def test_quiet_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    outcome = planner("solve", *SMALL, "--quiet", "-o", file)
    (line,) = outcome.out.splitlines()
    assert re.fullmatch(
        r"dp 8; zero1, micro-batch \d+, 8 chips: [\d.]+ m?s \(80 %: .*\) per step", line
    )
    assert outcome.err == ""
    assert file.exists()
    (line,) = planner("evaluate", file, "--quiet").out.splitlines()
    assert line.startswith("dp 8; zero1")
    (line,) = planner("evaluate", file, "--max-memory", "1GB", "--quiet").out.splitlines()
    assert line.endswith("does not fit in memory")
    outcome = planner("solve", *SMALL, "--quiet", "--max-step-time", "1ms")
    assert outcome.code == 3
    (line,) = outcome.out.splitlines()
    assert line.startswith("No plan fits (proved): step time: the fastest plan takes")


def test_what_could_not_change_the_print_is_refused(written: Path) -> None:
    for command in (("solve", *SMALL), ("evaluate", written)):
        for flag in ("--show=time", "--quiet"):
            (line,) = refused(*command, flag, "--json")
            assert line.startswith(
                f"{flag.strip('-').partition('=')[0]}: has no effect with --json"
            )
        (line,) = refused(*command, "--quiet", "--show", "time")
        assert line.startswith("show: has no effect with --quiet")


def test_an_unknown_section_is_refused_with_the_nearest(written: Path) -> None:
    assert refused("solve", *SMALL, "--show", "time,frnt") == [
        f"show: 'frnt' is not one of {', '.join(SOLVE)}, all; did you mean 'front'?"
    ]
    assert refused("evaluate", written, "--show", "front") == [
        f"show: 'front' is not one of {', '.join(EVALUATE)}, all"
    ]


def test_python_prints_the_same_screen() -> None:
    answer = library.solve(model="gpt3-125m", hardware="h100-sxm5-80", chips=8)
    asking = Asking(flags=tuple(flags_of({"model": "gpt3-125m", "hardware": "h100-sxm5-80",
                                          "chips": 8})))  # fmt: skip
    command = text_of(solve_screen(answer, asking)).splitlines()
    assert repr(answer) == str(answer) == "\n".join(command[:-1])
    assert command[-1].startswith("more")
    html = answer._repr_html_()
    places = [html.index(f"<b>{name}</b>") for name in rows(command) if name != "more"]
    assert places == sorted(places)


def names_in(group: Any, name: str = "") -> Iterator[str]:
    """Names of all commands of a group, those of groups in it with the group's."""
    for part, command in group.commands.items():
        whole = f"{name} {part}".strip()
        yield from names_in(command, whole) if hasattr(command, "commands") else [whole]


@each("command", sorted(names_in(get_command(app))))
def test_help_is_one_screen(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    few = planner(*command.split(), "--help").out
    assert len(few.splitlines()) < 45
    example = re.compile(rf"^ +planner {command} ", re.MULTILINE)
    if "--help-all" not in few:
        return
    whole = planner(*command.split(), "--help-all").out
    assert len(example.findall(few)) == min(4, len(example.findall(whole))) > 2
    flags = {*re.findall(r"--[a-z][a-z-]*", few.partition("╭")[2])}
    every = {*re.findall(r"--[a-z][a-z-]*", whole.partition("╭")[2])}
    assert flags < every
    assert "--help-all shows all" in " ".join(few.split())
    if command == "solve":
        assert flags >= {"--model", "--chips", "--hardware", "--batch-tokens", "--seq-len",
                         "--objective", "--framework", "--output"}  # fmt: skip
    assert planner(*command.split(), "--help").out == few, "asking for all leaves no trace"


@each(("fields", "words"), [
    ({"chips": 8, "batch_tokens": 3e6}, ["--chips", "8", "--batch-tokens", "3000000"]),
    ({"offload": True, "clocks": False}, ["--offload", "--no-clocks"]),
    ({"fix": {"pp": [4, 8], "sequence_parallel": [True]}},
     ["--fix", "pp=4,8", "--fix", "sequence_parallel=true"]),
    ({"pools": {"a": 4, "b": 8}, "axes": ("dp", "tp")}, ["--pools", "a=4,b=8", "--axes", "dp,tp"]),
    ({"degrade_link": ["nvlink:0-1=0.5"], "pes": [66, 132], "gap": None, "scale": ()},
     ["--degrade-link", "nvlink:0-1=0.5", "--pes", "66,132"]),
])  # fmt: skip
def test_fields_as_flags(fields: dict[str, object], words: list[str]) -> None:
    assert flags_of(fields) == words


def test_a_long_answer_leaves_out_what_show_has_in_full() -> None:
    flags = ("--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--chips", "8", "--max-power",
             "3kW", "--train-tokens", "1e12", "--carbon-intensity", "300",
             "--price-per-chip-hour", "2", "--electricity-price", "0.1")  # fmt: skip
    seen: list[tuple[SolveResult, Asking]] = []
    with patch("planner.cli.solving.print_solved", lambda *said, **_: seen.append(said[:2])):
        assert planner("solve", *flags).code == 0
    for width, most in MOST_LINES.items():
        lines = text_of(solve_screen(*seen[0]), width).splitlines()
        assert len(lines) <= most
        said = rows(lines)
        assert "tie with it" in said["runners-up"]
        assert {"plan", "step time", "memory", "note", "run", "front", "next"} <= said.keys()
    assert "#2 +" not in rows(text_of(solve_screen(*seen[0]), 80).splitlines())["runners-up"]
    assert "#  mesh" in seen[0][0].show("ties")
