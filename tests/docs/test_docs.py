"""Every command that the documentation shows runs, and every link inside it leads somewhere.

Commands are the lines of fenced blocks in README.md and docs/*.md that call `planner` (with or
without `$ ` and a path such as `.venv/bin/`), and the examples in the help texts. They run in the
order of a page, in one temporary folder per page, so that a later one may read what an earlier
one wrote; YAML and text blocks that begin with `# file: NAME` are written there first. A line that
does not run here says so itself, in a comment at its end: `# slow` (more than a few seconds), or
`# example` (it reads a file that the reader is to write).

Examples are the `>>>` lines of the Python blocks; they run in the order of a page too, with the
names of earlier blocks. Names are what stands in backticks and begins with one of our packages.
"""

import ast
import dataclasses
import doctest
import functools
import pkgutil
import re
import shlex
import shutil
from pathlib import Path

import pytest
from cli.command import Outcome, planner
from evidence.calibration.synthetic import write_measurements
from evidence.checked.logs import write_log
from machine.detection_outputs import write_node
from support.cases import each
from typer.main import get_command

import hardware_db
import models_db
from planner.cli.main import app
from planner.question.asked.named import filled
from planner.schedules import BUILT_IN

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<mark>```+|~~~+)[ ]*(?P<language>\S*).*?\n(?P<body>.*?)^(?P=mark)[ ]*$",
                   re.MULTILINE | re.DOTALL)  # fmt: skip
STUDY = (
    "job: {hardware: h100-sxm5-80, axes: fsdp, clocks: false}\n"
    "cross: {model: [gpt3-125m], chips: [8, 16], batch_tokens: [1Mi]}\n"
)
SKIPPED = ("# slow", "# example")
SHELLS = ("", "sh", "bash", "shell", "console", "text")
NAME = re.compile(r"`((?:planner|solvers|hardware_db|models_db)(?:\.\w+)+)(?:\([^`]*\))?`")


def commands_in(text: str) -> list[str]:
    """The planner command lines of the fenced blocks of a page, continuation lines joined."""
    found = []
    for block in FENCE.finditer(text):
        if block["language"] not in SHELLS:
            continue
        body = re.sub(r"\\\n\s*", " ", block["body"])
        for line in body.splitlines():
            for part in re.split(r"\s(?:&&|;)\s", line.strip().removeprefix("$ ")):
                words = part.split()
                if words and re.fullmatch(r"(\S*/)?planner", words[0]):
                    found.append(part.strip())
    return found


def arguments_of(line: str) -> list[str] | None:
    """The arguments of a command line, or None where it says that it does not run here."""
    if line.rstrip().endswith(SKIPPED):
        return None
    words = shlex.split(line, comments=True)
    ends = [words.index(word) for word in ("|", ">", ">>", "2>") if word in words]
    words = words[: min(ends)] if ends else words
    if any("..." in word or re.search(r"[<>{}]|^\[.*\]$", word) for word in words):
        return None  # a pattern, not a command
    return words[1:]


def run(line: str, arguments: list[str]) -> Outcome:
    """Runs a command line; what it sends to a file is there afterwards."""
    outcome = planner(*arguments)
    if kept := re.search(r"\s>\s*(\S+)$", line.partition(" #")[0].rstrip()):
        Path(kept[1]).write_text(outcome.out, encoding="utf-8")
    return outcome


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
    failed = []
    for line in commands_in(text):
        arguments = arguments_of(line)
        if arguments is None:
            continue
        outcome = run(line, arguments)
        expected = 3 if "# exit 3" in line else 0
        if outcome.code != expected:
            failed.append((line, outcome.code, outcome.err[-500:]))
    assert not failed, failed


def write_files(text: str, folder: Path) -> None:
    """Writes the YAML and text blocks of a page that say which file they are."""
    for name, body in re.findall(
        r"^```(?:yaml|text)\n# file: (\S+)\n(.*?)^```$", text, re.M | re.S
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(body, encoding="utf-8")


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
    (tmp_path / "job.yaml").write_text("model: llama2-7b\nchips: 64\n", encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    write_measurements(tmp_path)
    write_node(tmp_path / "outputs")
    shutil.copy(ROOT / "tests/models_db/hub/configs/qwen3-8b.json", tmp_path / "config.json")
    shutil.copy(ROOT / "tests/evidence/failure_log/made.csv", tmp_path / "failures.csv")
    shutil.copy(ROOT / "tests/answers/files/fleet.yaml", tmp_path)
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
    for line in ordered:
        arguments = arguments_of(line)
        assert arguments is not None, line
        if arguments[0] == "check":
            write_log(Path("plan.yaml"), Path("train.log"))
        outcome = run(line, arguments)
        assert outcome.code == 0, (line, outcome.err)


@each("page", PAGES)
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
                    ("sweep", "run"), ("sweep", "status"), ("sweep", "table"), ("sweep", "plot"),
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


def examples_in(text: str) -> str:
    """The Python blocks of a page on their own lines, everything else blank."""
    kept = [""] * text.count("\n")
    for block in FENCE.finditer(text):
        if block["language"] in ("python", "pycon"):
            first = text.count("\n", 0, block.start("body"))
            lines = block["body"].splitlines()
            kept[first : first + len(lines)] = lines
    return "\n".join(kept)


def failures_in(text: str, name: str) -> list[str]:
    """What doctest says of each example of a page that prints something else."""
    page = doctest.DocTestParser().get_doctest(examples_in(text), {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(page, out=said.append)
    return said


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
    said = failures_in(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))
    assert not said, "\n".join(said)


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
    said = failures_in(page, "page")
    assert len(said) == 1
    assert 'File "page", line 9' in said[0]
    assert failures_in(page.replace("4", "3"), "page") == []


def test_the_reading_of_names() -> None:
    page = "`planner.solve(model=...)` `planner.plan.Plan.tp` `solvers.nothing` planner.x `a.b`"
    named = NAME.findall(page)
    assert named == ["planner.solve", "planner.plan.Plan.tp", "solvers.nothing"]
    assert [is_known(name) for name in named] == [True, True, False]
    assert is_known("planner.question.request.Request.model")
    assert not is_known("planner.question.request.Request.nothing")


def test_the_reading_of_pages() -> None:
    page = (
        "```bash\n$ planner solve --model a \\\n  --chips 8\n.venv/bin/planner doctor # slow\n"
        "python3 -m venv .venv && .venv/bin/planner models list | head -3\n```\n"
        "```python\nplanner.solve()\n```\nplanner is good\n"
    )
    lines = commands_in(page)
    assert lines == [
        "planner solve --model a  --chips 8", ".venv/bin/planner doctor # slow",
        ".venv/bin/planner models list | head -3",
    ]  # fmt: skip
    assert arguments_of(lines[0]) == ["solve", "--model", "a", "--chips", "8"]
    assert arguments_of(lines[1]) is None
    assert arguments_of(lines[2]) == ["models", "list"]
    assert arguments_of("planner solve ... --json") is None
