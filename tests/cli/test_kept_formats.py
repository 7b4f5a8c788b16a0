"""Files of each version of a format, kept as they were written: what wrote them reads them still.

`tests/formats` has one of every format with a version, and `version_1` answers of the first form.
Files are added when a format changes, and none is ever written anew.
"""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused
from planner.answers.files.checks import EvaluatedDocument
from planner.answers.files.documents import check_seal, kind_of_document, read_document
from planner.answers.files.reevaluation import Rereading
from planner.answers.files.result_file import validated
from planner.base.errors import InputError
from planner.base.version import SCHEMA_VERSION
from planner.collectives.files.schedule_file import VERSION as SCHEDULE_VERSION
from planner.question.files.plan_file import read_plan_file
from planner.question.files.result_layout import RESULT_VERSION
from planner.studies.sweep.opening import _FORM

KEPT = Path(__file__).parents[1] / "formats"
PLANS = ("plan-1.yaml", "front-1.json", "result-2.json", "../cli/version_1/uniform.json")


def test_every_version_of_a_format_has_its_file() -> None:
    found = {path.name for path in KEPT.iterdir()}
    wanted = {f"{kind}-{at}" for kind in ("plan", "front", "evaluate") for at in (1,)}
    assert SCHEMA_VERSION == 1, "keep a file of the new version in tests/formats"
    assert RESULT_VERSION == 2
    assert _FORM == 1
    wanted |= {"result-2", "store-1", *(f"schedule-{at + 1}" for at in range(SCHEDULE_VERSION))}
    assert {name.partition(".")[0] for name in found} == wanted


@each("name", PLANS)
def test_plans_of_each_version_are_costed(name: str) -> None:
    rows = [] if name.endswith(".yaml") else ["--row", "1"]
    found = planner("evaluate", KEPT / name, *rows, "--json")
    assert (found.code, found.err) == (0, "")
    assert found.document["mesh"]["dp"] >= 1
    assert found.document["step_time_s"] > 0


@each(("words", "name"), [
    ("plan (YAML)", "plan-1.yaml"), ("front (JSON, CSV)", "front-1.json"),
    ("answer of `solve --json`", "result-2.json"),
    ("answer of `evaluate --json`, of `explain --json`", "evaluate-1.json"),
])  # fmt: skip
def test_the_page_says_what_takes_a_file(words: str, name: str) -> None:
    """All commands that take a plan read it in one way."""
    page = (KEPT.parents[1] / "docs" / "support.md").read_text(encoding="utf-8")
    (said,) = (line for line in page.splitlines() if line.startswith(f"| {words} |"))
    row = None if name in ("plan-1.yaml", "evaluate-1.json") else 1
    if "no command that takes a plan" not in said:
        assert read_plan_file(KEPT / name, row=row).plan.chips >= 1
        return
    with pytest.raises(InputError, match="not a plan: planner report takes it"):
        read_plan_file(KEPT / name)
    assert "| by `report`, " in said


def test_an_older_evaluation_is_read_and_not_taken_at_its_word() -> None:
    """Its plan is costed again: with constants of then it is as it was, else each line says why."""
    document = read_document(KEPT / "evaluate-1.json")
    assert kind_of_document(document.data, document.name) == "evaluate"
    check_seal(document.data, document.name)
    file = validated(EvaluatedDocument, document.text, document.name)
    reading = Rereading(name=document.name, path=document.path)
    assert reading.read(document.data, file.plan_job, "the plan").plan.dp == 8


def test_a_store_of_each_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store-1.db"
    shutil.copy(KEPT / path.name, path)
    found = planner("sweep", "status", path, "--json").document
    assert (found["points"], found["done"]) == (3, 3)
    said = planner("sweep", "table", path)
    assert said.code == 0
    assert re.findall(r"^ +(8|9|16) +([a-z]+)", said.out, re.MULTILINE) == [
        ("8", "optimal"), ("9", "refused"), ("16", "optimal"),
    ]  # fmt: skip


@each(("version", "seconds"), [(1, 3 * 0.5e6 / 25e9), (2, 2e6 / (33e9 + 25e9))])
def test_a_schedule_of_each_version_is_run(version: int, seconds: float) -> None:
    """Three rounds of half a megabyte on equal links; two megabytes over two of three links."""
    path = KEPT / f"schedule-{version}.json"
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == version
    found = planner("collective", "simulate", path, "--sizes", "1MB", "--json")
    assert (found.code, found.err) == (0, "")
    (schedule,) = found.document["schedules"]
    assert schedule["formula_s"] == [pytest.approx(2 * 0.7e-6 + seconds, rel=1e-12)]


def test_a_store_of_a_newer_form_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    shutil.copy(KEPT / "store-1.db", path)
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA user_version = {_FORM + 1}")
    database.close()
    before = path.read_bytes()
    (line,) = refused("sweep", "status", path)
    assert line == f"{path}: has form {_FORM + 1}; this planner reads form {_FORM}"
    assert path.read_bytes() == before


@each(("name", "row"), [("plan-1.yaml", ()), ("front-1.json", ("--row", "1"))])
def test_a_file_of_a_newer_version_says_so(name: str, row: tuple[str, ...], tmp_path: Path) -> None:
    text = (KEPT / name).read_text(encoding="utf-8")
    newer = re.sub(r'(schema_version"?: ?)1', r"\g<1>7", text)
    assert newer != text
    path = tmp_path / name
    path.write_text(newer, encoding="utf-8")
    lines = refused("evaluate", path, *row)
    assert any("schema_version" in line and "7" in line for line in lines), lines


@each("command", ["evaluate --row 1", "explain --row 1", "report", "compare", "solve --resume-from",
                  "evaluate", "check"])  # fmt: skip
@each("edit", ["sealed", "unsealed", "of other parts"])
def test_an_answer_of_a_newer_version_is_refused_for_that_alone(
    command: str, edit: str, tmp_path: Path
) -> None:
    """Whether its digest is there, and whether its parts are known; the line says both versions."""
    document = json.loads((KEPT / "result-2.json").read_text(encoding="utf-8"))
    document["schema_version"] = 3
    if edit != "sealed":
        del document["digest"]
    if edit == "of other parts":
        document = {f"{name}s": part for name, part in document.items()}
        document["schema_version"] = 3
    path, name = tmp_path / "newer.json", command.split(maxsplit=1)[0]
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    words: dict[str, list[object]] = {
        "compare": [KEPT / "result-2.json"], "check": ["--log", path],
        "solve": ["--model", "gpt3-125m", "--chips", 8],
    }  # fmt: skip
    rest = command.split()[1:]
    given = [*rest, path] if name == "solve" else [path, *rest]
    (line,) = refused(name, *given, *words.get(name, []))
    assert line.startswith(str(path))
    assert line.endswith("schema_version is 3; this planner reads version 1 or 2")


@each("name", ["evaluate-1.json", "front-1.json"])
def test_documents_of_one_version_say_that_one(name: str, tmp_path: Path) -> None:
    document = json.loads((KEPT / name).read_text(encoding="utf-8"))
    path = tmp_path / "newer.json"
    path.write_text(json.dumps({**document, "schema_version": 2}), encoding="utf-8")
    line = f"{path}: schema_version is 2; this planner reads version 1"
    assert refused("report", path) == [line]


@pytest.mark.parametrize("name", ["result-2.json", "version_1"])
def test_why_an_older_answer_is_another(name: str, tmp_path: Path) -> None:
    """Against the answer to the same question today."""
    old = KEPT / name if name != "version_1" else KEPT.parent / "cli/version_1/uniform.json"
    asked = json.loads(old.read_text(encoding="utf-8"))
    asked = asked.get("question", asked)["asked"]
    flags = [word for field, value in asked.items() if field != "axes"
             for word in (f"--{field.replace('_', '-')}", value)]  # fmt: skip
    axes = ["--axes", ",".join(asked["axes"])] if "axes" in asked else []
    new = tmp_path / "new.json"
    new.write_text(planner("solve", *flags, *axes, "--json").out, encoding="utf-8")
    found = planner("compare", old, new, "--json")
    assert (found.code, found.err) == (0, "")
    document = found.document
    moved = [one["change"] for one in document["reasons"] if one["change"] is not None]
    product = 1.0
    for share in moved:
        product *= 1 + share
    assert product == pytest.approx(1 + document["change"], rel=1e-9)
    if name == "version_1":
        assert {one["cause"] for one in document["reasons"]} & {"cost", "space"}
        assert "models_db" in {one["name"] for one in document["changes"]}
