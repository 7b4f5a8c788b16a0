"""Exit codes: stated once, taken from there by every command, and each of them returned."""

import ast
import contextlib
import json
import logging.config
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from studies.sweep.stand_in import Here
from support.cases import each

import planner as package
from cli.command import planner
from planner.base.errors import ExitCode, InputError, UnfinishedError
from planner.cli import defects, entry
from planner.cli.sweep_run import _run
from planner.studies.sweep.question.study import study_of

ROOT = Path(package.__file__).parents[1]
SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")
FITS = ("solve", *SMALL, "--axes", "dp", "--quiet")


def test_the_codes_are_these() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0, "CHECK_FAILED": 1, "INPUT": 2, "INFEASIBLE": 3, "TIME_LIMIT": 4, "UNFINISHED": 5,
        "DEFECT": 70, "HUNG_UP": 129, "INTERRUPTED": 130, "TERMINATED": 143,
    }  # fmt: skip


def test_no_command_has_codes_of_its_own() -> None:
    """`Exit(3)` and `sys.exit(2)` are nowhere."""
    numbers = []
    for path in (ROOT / "planner").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "xit(" in text else ():
            if not (isinstance(node, ast.Call) and node.args):
                continue
            called = ast.unparse(node.func).rpartition(".")[2].lower()
            if called in ("exit", "_exit") and isinstance(node.args[0], ast.Constant | ast.IfExp):
                numbers.append((path.name, node.lineno))
    assert numbers == []


@each("page", ["--help", "docs/support.md", "README.md"])
def test_the_codes_are_told_as_they_are(page: str) -> None:
    raw = planner(page).out if page == "--help" else (ROOT / page).read_text(encoding="utf-8")
    text = " ".join(raw.split())
    for code in ExitCode:
        told = (
            f"| {code:d} | {code.meaning}"
            if page == "docs/support.md"
            else f"{code:d} {code.meaning}"
        )
        assert told in text, told


@each(("command", "code"), [
    (FITS, ExitCode.OK),
    (("solve", "--chips", "0"), ExitCode.INPUT),
    ((*FITS, "--max-memory", "1MB"), ExitCode.INFEASIBLE),
    ((*FITS, "--time-limit", "1e-9"), ExitCode.TIME_LIMIT),
])  # fmt: skip
def test_each_end_of_a_search_has_its_code(command: tuple[str, ...], code: ExitCode) -> None:
    assert planner(*command).code == code


def test_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.answers.installation._CHECKS", {"fails": lambda: "as it should"})
    monkeypatch.setattr("planner.answers.installation._broken", lambda names: {})
    outcome = planner("doctor")
    assert (outcome.code, outcome.err) == (ExitCode.CHECK_FAILED, "error: fails: as it should\n")


def test_a_study_that_is_interrupted_can_go_on(tmp_path: Path) -> None:
    def stops(questions: Any) -> str:
        raise KeyboardInterrupt

    study = study_of({"model": "gpt3-125m", "hardware": "h100-sxm5-80"}, cross={"chips": [8, 16]})
    store = tmp_path / "s.db"
    with pytest.raises(UnfinishedError, match="interrupted: 0 of 2 points are stored; the same"):
        _run(study, store, Here(stops), refresh=False, retry=False, as_json=True)
    assert UnfinishedError.exit_code == ExitCode.UNFINISHED
    with pytest.raises(InputError):  # nothing is stored where nothing can be
        _run(study, tmp_path / "no" / "s.db", Here(stops), refresh=False, retry=False, as_json=True)


CRASH = """
import sys
import planner.answers.api as api
def broken(*given, **named):
    raise {error}
api.solved = broken
from planner.cli.entry import main
main()
"""


def crashed(tmp_path: Path, error: str, *more: str) -> subprocess.CompletedProcess[str]:
    """A command that runs into a defect, with a private path and a private name on its line."""
    (tmp_path / "anna").mkdir(exist_ok=True)
    words = [*FITS, "-o", str(tmp_path / "anna" / "secret.yaml"), *more]
    return subprocess.run(
        [sys.executable, "-c", CRASH.format(error=error), *words], cwd=tmp_path, text=True,
        capture_output=True, check=False, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip


def test_a_defect_is_one_line_and_a_file(tmp_path: Path) -> None:
    done = crashed(tmp_path, f"ValueError('no {tmp_path}/anna/secret.yaml, or b.yaml')")
    assert (done.returncode, done.stdout) == (ExitCode.DEFECT, "")
    (line,) = done.stderr.splitlines()
    (path,) = tmp_path.glob("planner-defect-*.txt")
    assert line == (
        "error: a defect of planner (ValueError in planner/answers/api.py, "
        f"line {re.findall('line ([0-9]+)', line)[0]}); details: {path}; report it to "
        "those who gave you planner"
    )
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0
    assert f"ruamel.yaml {version('ruamel.yaml')}\n" in text
    assert 'File "planner/cli/main.py", line' in text, text
    assert re.search(r"\nValueError: [0-9]+ characters, left out\n$", text)
    assert "command: planner solve --model gpt3-125m --hardware h100-sxm5-80" in text
    for private in (str(tmp_path), "anna", "secret", str(ROOT), str(Path.home()) + "/"):
        assert private not in text, private


def test_a_defect_without_a_place_for_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    defects.report(ValueError("x"), ["solve"])
    said = capsys.readouterr()
    first, *rest = said.err.splitlines()
    assert said.out == ""
    assert first.startswith("error: a defect of planner (ValueError); details follow; report it")
    assert rest[-1] == "ValueError: 1 characters, left out"


def test_a_defect_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken() -> None:
        raise RuntimeError("half installed")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("planner.cli.main.main", broken)
    with contextlib.ExitStack() as stack:
        done = stack.enter_context(pytest.raises(SystemExit))
        entry.main()
    assert done.value.code == ExitCode.DEFECT
    assert capsys.readouterr().err.count("\n") == 1


@each(("words", "shown"), [
    ("solve --model llama3.1-405b --chips=512 -o acme_out",
     "solve --model llama3.1-405b --chips=512 -o <text>"),
    ("evaluate plan --clocks 8 --max-power 4kW", "evaluate <text> --clocks 8 --max-power 4kW"),
    ("evaluate plan --watts 4kW", "evaluate <text> <option> 4kW"),
    ("models show acme-70b --name=acme", "models show <text> <option>"),
    ("solve -oacme-secret-run -o12 -h", "solve -o<text> -o12 -h"),
    ("solve --model=llama2-7b --output=acme.yaml",
     "solve --model=llama2-7b --output=<file.yaml>"),
    ("web acme --acme-secret --acme=secret -xacme", "web <text> <option> <option> <option>"),
    ("acmesecret solve", "<text> <text>"),
    ("sweep acme status", "sweep <text> <text>"),
    ("models acme --acme", "models <text> <option>"),
    ("--log-level debug solve --chips -8", "--log-level=<text> solve --chips -8"),
    ("solve --log-level acme --", "--log-level=<text> solve --"),
    ("check - -- --acme", "check <text> -- <option>"),
    ("check acme/runs/plan.pt --log C:\\joe\\p.json", "check <text> --log <file.json>"),
    ("sweep run --scheduler tcp://node17.acme:8786", "sweep run --scheduler <text>"),
])  # fmt: skip
def test_which_words_of_a_command_are_told(words: str, shown: str) -> None:
    assert " ".join(defects._public_words(words.split())) == shown


def test_words_of_a_command_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of them then, and nothing is told."""
    monkeypatch.setattr("planner.cli.main.tree", lambda: 1 / 0)
    words = ["solve", "--name", "acme", "-oacme", "--chips", "8"]
    assert " ".join(defects._public_words(words)) == "<text> <option> <text> <option> <option> 8"


@each("text", [
    "could not convert string to float: 'ACME secret run 7'", "no /srv/acme smith/project x/file",
    "acme/runs/plan.pt of joe@node17.acme", "\\\\acme\\share\\x.yaml",
])  # fmt: skip
def test_nothing_that_files_hold_is_in_a_report(tmp_path: Path, text: str) -> None:
    """Not in the text of an exception, in one that led to it, nor in code of the user's."""
    path = tmp_path / "acme.py"
    path.write_text(f"def run():\n    raise KeyError({text!r})  # acme\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), names)  # code of another place
    with pytest.raises(KeyError) as raised:
        names["run"]()
    error = ValueError(f"x {text}")
    error.__cause__ = raised.value
    told = defects.details_of(error, ["solve", "--name", text])
    assert "acme" not in told.lower()
    assert "KeyError: " in told
    assert "ValueError: " in told
    assert '  File "<file.py>", line 2\n' in told


def test_what_is_done_is_said_on_request_alone() -> None:
    """On standard error, as text or as one object per line, wherever the option stands."""
    first, second, third = (  # each is asked for the first time: answers are remembered here
        (*FITS, "--batch-tokens", f"{size}Ki") for size in (768, 1536, 3072)
    )
    for command in ((*first, "--log-level", "debug"), ("--log-level=DEBUG", *second)):
        outcome = planner(*command)
        assert outcome.code == 0
        lines = outcome.err.splitlines()
        assert all(re.match(r"\d\d:\d\d:\d\d (debug|info) planner\.[\w.]+: \w+", line)
                   for line in lines), lines  # fmt: skip
        assert {"start", "resolved", "searched", "solved"} <= {line.split()[3] for line in lines}
    said = [json.loads(line) for line in planner(*third, "--log-json").err.splitlines()]
    assert [one["event"] for one in said] == ["start", "solve", "solved"]
    assert said[-1]["status"] == "optimal"
    assert all(re.fullmatch(r"[\d-]{10}T[\d:]{8}\.\d{3}Z", one["time"]) for one in said)
    assert planner(*FITS).err == "", "what was asked once is not said for ever"
    assert planner(*FITS, "--log-level", "error").err == ""


def test_a_library_that_sets_up_logging_silences_nothing() -> None:
    planner(*FITS, "--batch-tokens", "640Ki", "--log-level", "debug")
    logging.config.dictConfig({"version": 1})
    said = planner(*FITS, "--batch-tokens", "1280Ki", "--log-level", "debug").err
    assert {"start", "solved"} <= {line.split()[3] for line in said.splitlines()}


def as_objects(text: str) -> list[dict[str, Any]]:
    """Standard error, each line of which is an object with the same four fields."""
    objects = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "event"} <= one.keys() for one in objects), objects
    return objects


@each(("words", "code", "message"), [
    (("solve", "--chips", "0", "--log-json"), ExitCode.INPUT, "chips: 0: must be at least 1"),
    (("--log-json", "solve", "--bogus"), ExitCode.INPUT, "No such option: --bogus"),
    (("nothing", "--log-json"), ExitCode.INPUT, "No such command 'nothing'"),
    (("doctor", "--log-level=bad", "--log-json"), ExitCode.INPUT, "log-level: 'bad' is not one of"),
    (("verify", "none.json", "--log-json"), ExitCode.INPUT, "none.json: cannot be read"),
    ((*FITS, "--pp", "--log-json", "--", "x\ny"), ExitCode.INPUT, "No such option: --pp"),
])  # fmt: skip
def test_refusals_are_objects_too(words: tuple[str, ...], code: ExitCode, message: str) -> None:
    outcome = planner(*words)
    assert (outcome.code, outcome.out) == (code, "")
    last = as_objects(outcome.err)[-1]
    assert (last["level"], last["event"], last["logger"]) == ("error", "error", "planner.cli")
    assert last["message"].startswith(message), last


def test_a_word_that_is_no_option_asks_for_nothing() -> None:
    assert planner("verify", "--", "--log-json").err.startswith("error: --log-json: cannot be read")


def test_all_that_is_said_is_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is neither logged nor a refusal: a check that failed, warnings of Python."""

    def check() -> str:
        print("half", "a line", end="", file=sys.stderr)
        return "as it should"

    monkeypatch.setattr("planner.answers.installation._CHECKS", {"fails": check})
    monkeypatch.setattr("planner.answers.installation._broken", lambda names: {})
    outcome = planner("doctor", "--log-json")
    assert outcome.code == ExitCode.CHECK_FAILED
    said = [(one["event"], one.get("message", "")) for one in as_objects(outcome.err)]
    assert said[0] == ("start", "")
    assert "half a line" in said[1][1]
    assert "fails: as it should" in said[-1][1]
    before = sys.stderr
    assert planner("doctor").err == "half a lineerror: fails: as it should\n"
    assert sys.stderr is before


def test_interruptions_and_defects_are_objects(tmp_path: Path) -> None:
    for error, code in (("KeyboardInterrupt", ExitCode.INTERRUPTED), ("ValueError", 70)):
        done = crashed(tmp_path, error, "--log-json")
        last = as_objects(done.stderr)[-1]
        assert done.returncode == code
        assert last["event"] == ("error" if code == ExitCode.DEFECT else "interrupted")
        assert last["message"].startswith("a defect of planner (" if code == 70 else "interrupted")


def test_an_interruption_before_anything_is_loaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.cli.main.main", broken)
    monkeypatch.setattr("sys.argv", ["planner", "solve", "--log-json"])
    with pytest.raises(SystemExit) as done:
        entry.main()
    assert done.value.code == ExitCode.INTERRUPTED
    (one,) = as_objects(capsys.readouterr().err)
    assert one["event"] == one["message"] == "interrupted"


@each(("words", "told"), [
    (("--log-level", "inf"), "log-level: 'inf' is not one of debug, info, warning, error; did"),
    (("--log-level",), "log-level: '' is not one of debug, info, warning, error"),
    (("--log-json=1",), "No such option: --log-json=1"),
])  # fmt: skip
def test_a_wrong_level_is_refused(words: tuple[str, ...], told: str) -> None:
    outcome = planner(*FITS, *words)
    assert outcome.code == ExitCode.INPUT
    assert outcome.out == ""
    if "=" not in words[0]:
        assert outcome.mistakes[0].startswith(told)
