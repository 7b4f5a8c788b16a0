"""`planner evaluate` on fronts: every row reproduces what `solve` said, to the last digit."""

import json
from pathlib import Path
from typing import Any

from support.cases import each

import planner as package
from cli.answers import SMALL
from cli.command import planner, refused, solve
from cli.jobs import JOBS
from cli.plan_files import COSTS, DECISIONS, edited, evaluate
from planner.question.files.front_file import file_and_row

FRONTS = {
    **JOBS,
    "clocks and chip counts": (
        "--model", "llama2-7b", "--hardware", "h100-sxm5-80", "--chips", "32",
    ),
}  # fmt: skip


def plan_section(row: dict[str, Any]) -> dict[str, Any]:
    """The `plan:` section of a file, from a row of the JSON answer."""
    fields = {name: row[name] for name in DECISIONS}
    return {**fields, "placement": row["placement"]["order"]}


@each("name", JOBS)
def test_every_row_of_the_front_file_is_a_plan_that_evaluates_to_the_same_digits(
    name: str, tmp_path: Path
) -> None:
    plan, front = tmp_path / "plan.yaml", tmp_path / "front.json"
    answer = solve(*JOBS[name], "-o", plan, "--pareto", front)
    rows = json.loads(front.read_text(encoding="utf-8"))["front"]
    assert rows == answer["front"]["plans"]
    for row in rows:
        again = evaluate(edited(plan, lambda data, row=row: data.update(plan=plan_section(row))))
        for key in (*COSTS, *DECISIONS, "placement"):
            assert again[key] == row[key], (key, row["mesh"])
        assert again["fits"] is True
        assert again["warnings"] == []


@each("row", [None, "0", "99"])
def test_a_front_needs_one_of_its_rows(tmp_path: Path, row: str | None) -> None:
    file = tmp_path / "front.json"
    assert planner("solve", "--model", "llama2-7b", "--chips", "16", "--pareto", file).code == 0
    outcome = planner("evaluate", file, *(() if row is None else ("--row", row)))
    assert outcome.code == 2
    assert outcome.err.startswith("error: row: ")
    assert "plans 1 to" in outcome.err


def test_a_single_plan_has_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    assert planner("solve", "--model", "llama2-7b", "--chips", "16", "-o", file).code == 0
    outcome = planner("evaluate", file, "--row", "1")
    assert outcome.code == 2
    assert "leave it out" in outcome.err


@each("name", FRONTS)
def test_every_row_of_a_front_in_csv_and_json_evaluates_to_the_same_digits(
    name: str, tmp_path: Path
) -> None:
    table, document = tmp_path / "front.csv", tmp_path / "front.json"
    answer = solve(*FRONTS[name], "--pareto", table, "--pareto", document)
    assert name in JOBS or len(answer["front"]["plans"]) > 2
    for row, point in enumerate(answer["front"]["plans"], start=1):
        again = evaluate(table, "--row", row)
        assert again == evaluate(document, "--row", row)
        for key in (*COSTS, *DECISIONS, "placement"):
            assert again[key] == point[key], key
        assert again["defaults"] == []


def test_a_csv_that_is_not_a_whole_front(tmp_path: Path) -> None:
    table = tmp_path / "front.csv"
    rows = len(solve(*SMALL, "--pareto", table)["front"]["plans"])
    whole = table.read_text(encoding="utf-8")
    (line,) = refused("evaluate", tmp_path / "absent.csv", "--row", 1)
    assert line.startswith(f"{tmp_path / 'absent.csv'}: cannot be read (no such file")
    lines = refused("evaluate", table, "--row", rows + 1)
    assert lines == [
        f"row: {table} holds plans 1 to {rows}, choose one; {rows + 1} is not one of them"
    ]
    (line,) = refused("evaluate", table)
    assert line == f"row: {table} holds plans 1 to {rows}, choose one, such as {table}:1"
    for lost in (2, 3, 200):
        table.write_text(whole[:-lost], encoding="utf-8")
        assert f"{table}: row {rows}: is cut off" in refused("evaluate", table, "--row", 1)[0]
    for text in ("", "a,b\n1,2\n", whole.splitlines()[0], "mesh,mesh.tp,x\n1,2,3\n", '"\0",'):
        table.write_text(text, encoding="utf-8")
        assert len(refused("evaluate", table, "--row", 1)) == 1


COMMANDS = (
    ("evaluate",), ("explain",), ("export", "--to", "megatron"), ("export", "--chakra", "traces"),
    ("check", "--log", "train.log"),
)  # fmt: skip
"""Commands that take a plan and --row."""


def test_every_command_that_takes_a_plan_takes_a_row_by_its_name(tmp_path: Path) -> None:
    """`front.json:2` is `front.json --row 2`, in Python too; what goes on from it says it again."""
    front = tmp_path / "front.json"
    answer = solve(*SMALL, "--pareto", front)
    named = f"{front}:2"
    for words in (("evaluate", "--quiet"), ("export", "--to", "megatron", "--allow-lossy")):
        by_name, by_flag = planner(*words, named), planner(*words, front, "--row", 2)
        assert by_name.code == 0, by_name.err
        assert by_name == by_flag
    line = f"row: {named} names row 2 already; leave one out"
    for words in (*COMMANDS, ("ridgeline", "--plan"), ("evaluate", "--from", "auto")):
        assert refused(*words, named, "--row", 2) == [line]
    for words in (*COMMANDS, ("ridgeline", "--plan"), ("measure", "--framework", "megatron")):
        (line,) = refused(*words, f"{front}:99")
        assert line.endswith("choose one; 99 is not one of them")
    point = answer["front"]["plans"][1]["step_time_s"]
    assert package.evaluate(named).result.step_time_s == point
    odd = tmp_path / "front:2"
    odd.write_bytes(front.read_bytes())
    assert planner("evaluate", odd, "--row", 1).code == 0, "a file that is there is that file"


def test_a_run_that_exists_may_be_a_row(tmp_path: Path) -> None:
    front = tmp_path / "front.json"
    found = solve(*SMALL, "--pareto", front)["front"]["plans"]
    again = solve(*SMALL, "--resume-from", f"{front}:1")
    assert again["best"]["mesh"] == found[0]["mesh"]
    assert any("the checkpoint" in one for one in again["notes"]["caveats"])
    assert refused("solve", *SMALL, "--resume-from", front) == [
        f"resume-from: row: {front} holds plans 1 to {len(found)}, choose one, such as {front}:1"
    ]
    plan = tmp_path / "plan.yaml"
    solve(*SMALL, "--output", plan)
    assert refused("solve", *SMALL, "--resume-from", f"{plan}:1") == [
        f"resume-from: row: {plan} is not a front of several plans; leave it out"
    ]
    down = ("solve", "--down", "1chip", "--resume-from", f"{front}:1")
    assert "no such file" not in planner(*down).err


def test_a_row_with_many_zeros_is_that_row() -> None:
    """Its first fifteen digits were taken: row 1."""
    assert file_and_row("front.json:0000000000000000000012") == (Path("front.json"), 12)
