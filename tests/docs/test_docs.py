"""Every command that the documentation shows runs, and every link inside it leads somewhere.

Commands are the lines of fenced blocks in README.md and docs/*.md that call `planner` (with or
without `$ ` and a path such as `.venv/bin/`), and the examples in the help texts. They run in the
order of a page, in one temporary folder per page, so that a later one may read what an earlier
one wrote; YAML and text blocks that begin with `# file: NAME` are written there first. A line that
does not run here says so itself, in a comment at its end: `# slow` (more than a few seconds), or
`# example` (it reads a file that the reader is to write).

Examples are the `>>>` lines of the Python blocks; they run in the order of a page too, with the
names of earlier blocks, and of another page's first one where `<!-- names: PAGE -->` says so.
Names are what stands in backticks and begins with one of our packages.

What a page shows of the output of a command, a block of the language `screen`, is compared with
what the command prints (`docs.reading`), in lines of 100 columns; so are the rows of tables that
say which command they are of (`docs.tables`). Commands run once for all. With

    PLANNER_WRITE_PAGES=1 python -m pytest tests/docs/test_docs.py

all of these and the output of examples are replaced by what is printed now; read the difference.
"""

import ast
import dataclasses
import functools
import os
import pkgutil
import re
import shutil
from pathlib import Path

import pytest
from cli.command import planner
from evidence import tables_once
from evidence.calibration.synthetic import write_measurements
from evidence.checked.logs import write_log
from machine.detection_outputs import write_node
from support.cases import each
from typer.main import get_command

import hardware_db
import models_db
from docs.reading import (
    FENCE,
    PAGES,
    ROOT,
    arguments_of,
    commands_in,
    examples_of,
    names_from,
    printed_by,
    replaced,
    run,
    screens_in,
    write_files,
)
from docs.tables import rows_in
from planner.cli.main import app
from planner.evidence.goodput import table as goodput
from planner.question.asked.named import filled
from planner.schedules import BUILT_IN

WRITING = bool(os.environ.get("PLANNER_WRITE_PAGES"))
QUANTITIES: dict[str, tuple[str, ...]] = {
    "docs/collectives/planner.md": ("alpha = max(",),
    "docs/model/energy.md": ("s_chip ", "steps = train_tokens"),
}
"""Formulas with quantities, by page: how the block begins. No command prints them."""
STUDY = (
    "job: {hardware: h100-sxm5-80, axes: fsdp, clocks: false}\n"
    "cross: {model: [gpt3-125m], chips: [8, 16], batch_tokens: [1Mi]}\n"
)
SMALL_FILES = (
    "planner solve --model gpt3-350m --hardware h100-sxm5-80 --chips 8 --batch-tokens 64Ki "
    "--fix pp=2 -o plan.yaml --pareto front.json"
)
"""Writes, in the place of a large job's, what the examples that read a plan or a front read."""
LONGEST = 250  # lines of a page
few_runs = functools.partial(goodput.goodput_tables, runs=200)
"""The tables of runs with failures, of which 10,000 are simulated else."""
WRITTEN_WHOLE = {"docs/models-types.md": "benchmarks/model_types.py"}
"""Reference that a command writes whole, however long, and the command."""
MAY_BE_LONGER = {*WRITTEN_WHOLE, "README.md"}
QUANTITY = re.compile(r"\d (?:%|[mun]?s|[kMGT]B|[kM]?[JW]|days?)(?!\w)|\d,\d{3}")
NAME = re.compile(r"`((?:planner|solvers|hardware_db|models_db)(?:\.\w+)+)(?:\([^`]*\))?`")


def test_the_readme_shows_the_main_job() -> None:
    lines = commands_in((ROOT / "README.md").read_text(encoding="utf-8"))
    assert any("solve --model llama2-13b --chips 4096" in line for line in lines), lines


def test_the_readme_lists_every_command() -> None:
    """Groups by their commands, in the first column of a table; pages about racks are linked."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    missing = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = list(getattr(command, "commands", {}))
        if not all(f"`planner {name} {part}`" in shown or f"`{part}`" in shown for part in inner):
            missing.append((name, inner))
        if not inner and f"`planner {name}" not in shown:
            missing.append((name, inner))
    assert not missing


def test_the_readme_counts_the_records_that_are_shipped() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    chips, clusters = hardware_db.list_chips(), hardware_db.list_clusters()
    assert f"| {len(chips)} chips and {len(clusters)} clusters, the same |" in text
    assert f"| {len(models_db.list_models())} models; " in text


@each("page", sorted((ROOT / "docs" / "rack").glob("*.md")))
def test_pages_about_racks_can_be_found(page: Path) -> None:
    assert f"](docs/rack/{page.name})" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = ROOT / "docs" / "model" / "README.md"
    assert f"](../rack/{page.name})" in index.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    write_files(text, tmp_path)
    failed, printed = [], dict[str, str]()
    screens = screens_in(text)
    shown = [screen.command for screen in screens]
    for line in dict.fromkeys([*commands_in(text), *shown]):
        arguments = arguments_of(line)
        if arguments is None:
            continue
        outcome = run(line, arguments)
        expected = re.search(r"# exit (\d)", line)
        if outcome.code != (int(expected[1]) if expected else 0):
            failed.append((line, outcome.code, outcome.err[-500:]))
        printed[line] = printed_by(outcome)
    for row in (rows := rows_in(text)):
        arguments = arguments_of(row.command)
        assert arguments is not None, row.command
        printed[row.command] = printed_by(run(row.command, arguments))
    assert not failed, failed
    assert [line for line in shown if line not in printed] == [], "screens of what does not run"
    if WRITING:
        now = page.read_text(encoding="utf-8")
        for screen in screens:
            now = replaced(now, screen, screen.as_printed(printed[screen.command]))
        for row in rows:
            now = now.replace(row.line, row.as_printed(printed[row.command]), 1)
        page.write_text(now, encoding="utf-8")
        screens, rows = screens_in(now), rows_in(now)
    stale = {s.command: part for s in screens if (part := s.missing_in(printed[s.command]))}
    stale |= {r.command: [r.line] for r in rows if r.as_printed(printed[r.command]) != r.line}
    assert not stale, f"{stale}: PLANNER_WRITE_PAGES=1 shows what is printed now"


@each("page", PAGES)
def test_what_a_command_printed_is_a_screen(page: Path) -> None:
    """Elsewhere figures grow old unseen; formulas have few that are no names."""
    name = str(page.relative_to(ROOT))
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["language"] in ("", "text", "console") and not block["body"].startswith("# file:"):
            found = QUANTITY.findall(block["body"])
            assert not found or block["body"].startswith(QUANTITIES.get(name, ())), (name, found)


def _after_its_files(line: str) -> tuple[bool, bool]:
    """Last what reads a plan or a local calibration that another example writes."""
    reads = any(
        word in line
        for word in (
            "evaluate",
            "explain",
            "compare",
            "planner report",
            "planner export",
            "check",
            "verify",
        )
    )
    return reads, "--calibration" in line or ("sweep" in line and "sweep run" not in line)


def test_the_examples_of_the_help_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(goodput, "goodput_tables", few_runs)
    monkeypatch.setattr("planner.evidence.validation.answer.left_out_table", tables_once.left_out)
    (tmp_path / "job.yaml").write_text("model: llama2-7b\nchips: 64\n", encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    write_measurements(tmp_path)
    write_node(tmp_path / "outputs")
    shutil.copy(ROOT / "tests/models_db/hub/configs/qwen3-8b.json", tmp_path / "config.json")
    shutil.copy(ROOT / "tests/evidence/failure_log/made.csv", tmp_path / "failures.csv")
    shutil.copy(ROOT / "tests/answers/files/fleet.yaml", tmp_path)
    for name in ("old.json", "new.json"):
        shutil.copy(ROOT / "tests/formats/result-2.json", tmp_path / name)
    for launch in ("megatron/uneven/run.sh", "deepspeed/dense-sharded/ds_config.json"):
        shutil.copy(ROOT / "tests" / "frameworks" / "export" / "golden" / launch, tmp_path)
    examples = []
    for path in sorted((ROOT / "planner" / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = re.sub(r"\n\s+(?=--)", " ", filled(node.value, path.stem))
                examples += re.findall(r"^ {2,}(planner [a-z].*)$", text, re.MULTILINE)
    assert len(examples) >= 6
    ordered = sorted(dict.fromkeys(examples), key=_after_its_files)
    first = next(at for at, line in enumerate(ordered) if _after_its_files(line)[0])
    for line in (*ordered[:first], SMALL_FILES, *ordered[first:]):
        arguments = arguments_of(line)
        assert arguments is not None, line
        if arguments[0] == "check":
            write_log(Path("plan.yaml"), Path("train.log"))
        outcome = run(line, arguments)
        assert outcome.code == 0, (line, outcome.err)


@each("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])
def test_links_inside_the_repository(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    missing = []
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name) if name else page
        if not other.exists():
            missing.append(target)
        elif anchor and other.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", other.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
            if anchor not in slugs:
                missing.append(target)
    assert not missing


@functools.cache
def known_flags() -> frozenset[str]:
    """The flags of all commands, as their help texts say them."""
    known: set[str] = set()
    for command in (("solve",), ("evaluate",), ("feasible",), ("validate",), ("calibrate",),
                    ("measure",), ("check",), ("verify",),
                    ("explain",), ("compare",), ("ridgeline",), ("report",),
                    ("goodput",),
                    ("sweep", "run"), ("sweep", "status"), ("sweep", "table"), ("sweep", "plot"),
                    ("fleet",),
                    ("rack", "parallelism"), ("rack", "zero"),
                    ("rack", "solve"), ("collective", "bounds"), ("collective", "synthesize"),
                    ("collective", "simulate"), ("collective", "compare"), ("collective", "export"),
                    ("models", "show"), ("models", "import"), ("export",),
                    ("rack", "topology"),
                    ("hardware", "show"), ("hardware", "detect"), ("hardware", "new"),
                    ("reproduce",), ("schema",), ("doctor",), ()):  # fmt: skip
        few = planner(*command, "--help").out
        whole = planner(*command, "--help-all").out if "--help-all" in few else few
        known |= set(re.findall(r"--[a-z][a-z-]*", whole))
    return frozenset(known)


@each("page", PAGES)
def test_flags_that_a_page_mentions_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {
        flag
        for line in commands_in(text)
        for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", line)
    }  # fmt: skip
    assert named <= known_flags(), sorted(named - known_flags())


def is_known(name: str) -> bool:
    """Whether a dotted name can be imported; fields of records count, defaults or not."""
    *path, last = name.split(".")
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ModuleNotFoundError):
        try:
            record = pkgutil.resolve_name(".".join(path))
        except (AttributeError, ModuleNotFoundError):
            return False
        fields = dataclasses.fields(record) if dataclasses.is_dataclass(record) else ()
        return last in {f.name for f in fields} | set(getattr(record, "model_fields", ()))
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, name = page.read_text(encoding="utf-8"), str(page.relative_to(ROOT))
    found = examples_of(text, name, names_from(page))
    if WRITING and found.text != text:
        page.write_text(found.text, encoding="utf-8")
        found = examples_of(found.text, name, names_from(page))
    assert not found.said, "\n".join(found.said)


@each("page", PAGES)
def test_the_names_that_a_page_mentions_exist(page: Path) -> None:
    named = NAME.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    assert not [name for name in named if not is_known(name)]


def test_the_glossary_lists_every_schedule() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| schedule \|.*$", text, re.MULTILINE)
    assert [one.name for one in BUILT_IN if one.name not in row.lower()] == []


def test_the_reading_of_examples() -> None:
    page = "text\n```python\n>>> 1 + 1\n2\n```\n>>> no\n```python\n>>> x = 3\n>>> x\n4\n```\n"
    found = examples_of(page, "page")
    assert len(found.said) == 1
    assert 'File "page", line 9' in found.said[0]
    assert found.text == page.replace("4", "3")
    assert examples_of(found.text, "page").said == []


def test_the_reading_of_names() -> None:
    page = "`planner.solve(model=...)` `planner.plan.Plan.tp` `solvers.nothing` planner.x `a.b`"
    named = NAME.findall(page)
    assert named == ["planner.solve", "planner.plan.Plan.tp", "solvers.nothing"]
    assert [is_known(name) for name in named] == [True, True, False]
    assert is_known("planner.question.request.Request.model")
    assert not is_known("planner.question.request.Request.nothing")


def first_words(page: Path) -> tuple[str, str]:
    """The title of a page, and the first sentence below it."""
    head, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
    return head, re.split(r"(?<=[.?!])\s", rest.strip(), maxsplit=1)[0]


@each("page", [page for page in PAGES if page.parent != ROOT])
def test_a_page_begins_with_the_question_that_it_answers(page: Path) -> None:
    assert any(words.endswith("?") for words in first_words(page)), first_words(page)


@each("page", [page for page in PAGES if str(page.relative_to(ROOT)) not in MAY_BE_LONGER])
def test_a_page_can_be_read_in_one_go(page: Path) -> None:
    lines = len(page.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST, f"{lines} lines: shorten it, or give a part a page and a question"


@each(("page", "script"), list(WRITTEN_WHOLE.items()))
def test_a_longer_page_is_written_by_a_command(page: str, script: str) -> None:
    assert script in (ROOT / page).read_text(encoding="utf-8")
    assert (ROOT / script).is_file()
