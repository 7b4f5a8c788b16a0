"""The installed command as a process: imports, pipes, colours, terminals, interruption."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cases import each

from cli.command import solve
from planner.base.errors import ExitCode
from planner.base.units import show_seconds

COMMAND = [sys.executable, "-c", "from planner.cli.entry import main; main()"]
SMALL = ["solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8"]
LONG = ["solve", "--model", "llama3.1-405b", "--hardware", "h100-sxm5-80", "--chips", "16384",
        "--placement", "all", "--offload"]  # fmt: skip
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOR = re.compile(r"\x1b\[(?:\d+;)*(?:3\d|4\d|9\d|10\d)(?:;\d+)*m")
_TERMINAL = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "TTY_COMPATIBLE")
CLEAN = {key: value for key, value in os.environ.items() if key not in _TERMINAL}


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with pipes for its streams."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False,
        env={**CLEAN, **environment},
    )  # fmt: skip


def loaded_by(arguments: list[str], modules: tuple[str, ...]) -> list[str]:
    """Which of some modules a command has imported when it exits."""
    code = (
        "import sys, atexit, json\n"
        f"sys.argv = {['planner', *arguments]!r}\n"
        f"wanted = {modules!r}\n"
        "def tell():\n"
        "    print('LOADED' + json.dumps([m for m in wanted if m in sys.modules]), "
        "file=sys.stderr)\n"
        "atexit.register(tell)\n"
        "from planner.cli.entry import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stderr.rpartition("LOADED")[2])
    return found


HEAVY = (
    "ortools",
    "scipy",
    "networkx",
    "numpy",
    "pydantic",
    "pandas",
    "plotly",
    "resvg_py",
    "dask",
)
ON_REQUEST = ("logging", "planner.cli.defects")


def test_help_loads_nothing_heavy() -> None:
    assert loaded_by(["--help"], (*HEAVY, "yaml")) == []
    assert loaded_by(["--version"], (*HEAVY, "yaml")) == []


@each("command", ["solve", "evaluate", "models", "schema"])
def test_the_help_of_a_command_loads_only_what_typer_needs(command: str) -> None:
    """Typer converts parameters with pydantic; nothing of ours that needs it is loaded."""
    ours = (
        "yaml",
        "planner.question.request",
        "planner.answers.api",
        "hardware_db",
        "models_db",
        "solvers",
    )
    assert set(loaded_by([command, "--help"], (*HEAVY, *ours))) <= {"pydantic"}


def test_the_default_solve_path_needs_no_solver_library(tmp_path: Path) -> None:
    outputs = ["-o", str(tmp_path / "p.yaml"), "--pareto", str(tmp_path / "f.html")]
    assert loaded_by([*SMALL, *outputs], (*HEAVY, *ON_REQUEST)) == ["numpy", "pydantic"]


def test_json_loads_no_terminal_library() -> None:
    assert loaded_by([*SMALL, "--json"], (*HEAVY, *ON_REQUEST, "rich.table", "rich.console")) == [
        "numpy", "pydantic",
    ]  # fmt: skip


def test_importing_the_package_is_cheap() -> None:
    """The budget is one of modules: seconds depend on the machine."""
    code = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        "import planner\n"
        "print(json.dumps([*set(sys.modules) - before]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert not {*HEAVY} & {*loaded}
    assert sum(name.partition(".")[0] == "planner" for name in loaded) <= 6
    assert len(loaded) <= 40  # with those of Python: 36 under 3.11 and 3.12, 25 under 3.13


def test_the_installed_script_runs_from_any_folder(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("planner")
    if not script.exists():
        pytest.skip("the package is not installed")
    done = subprocess.run([script, *SMALL, "--json", "-o", "plan.yaml"], cwd=tmp_path,
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert json.loads(done.stdout)["certificate"]["status"] == "optimal"
    again = subprocess.run([script, "evaluate", "plan.yaml", "--json"], cwd=tmp_path,
                           capture_output=True, text=True, check=True)  # fmt: skip
    best = json.loads(done.stdout)["best"]
    assert json.loads(again.stdout)["step_time_s"] == best["step_time_s"]


def test_output_to_a_pipe_has_no_escape_codes_and_a_fixed_width() -> None:
    narrow, wide = run(*SMALL, COLUMNS="40", NO_COLOR="1", FORCE_COLOR=""), run(*SMALL)
    assert narrow.stderr == wide.stderr == ""
    strip = re.compile(r"in \d+\.\d+ s")
    assert strip.sub("", narrow.stdout) == strip.sub("", wide.stdout)
    assert not ANSI.search(wide.stdout)
    assert max(map(len, wide.stdout.splitlines())) <= 110


def test_no_color_in_a_pipe() -> None:
    assert not ANSI.search(run("solve", "--bogus", NO_COLOR="1").stderr)


def step_time() -> str:
    """The step time of `SMALL` as tables show it."""
    return show_seconds(solve(*SMALL[1:])["best"]["step_time_s"])


def in_a_terminal(arguments: list[str], columns: int = 120, **environment: str) -> tuple[int, str]:
    """Runs a command on a terminal; its exit code and all it printed."""
    pid, screen = pty.fork()
    if pid == 0:  # pragma: no cover  (the child)
        os.environ.clear()
        os.environ.update(CLEAN, TERM="xterm", COLUMNS=str(columns), **environment)
        os.execv(sys.executable, [*COMMAND, *arguments])
    parts = []
    while True:
        try:
            part = os.read(screen, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), b"".join(parts).decode()


def test_a_mistake_without_color_on_a_terminal() -> None:
    code, said = in_a_terminal(["evaluate", "absent.yaml"], NO_COLOR="1")
    assert code == 2
    assert not ANSI.search(said)


@each(("columns", "environment"), [(60, {}), (80, {"NO_COLOR": "1"})])
def test_a_narrow_terminal(columns: int, environment: dict[str, str]) -> None:
    """NO_COLOR asks for no colour; bold may stay (no-color.org speaks of colour only)."""
    shown = {
        (): ("step time", step_time(), "energy", "per step", "MFU", "proved optimal"),
        ("--show", "all"): ("step time", step_time(), "energy per step", "MFU", "Proved optimal"),
    }
    for flags, wanted in shown.items():
        code, said = in_a_terminal([*SMALL, *flags], columns, **environment)
        assert code == 0
        assert not environment or not COLOR.search(said)
        lines = ANSI.sub("", said).splitlines()  # a bar, if the machine is busy, ends its in "\r"
        assert max(map(len, lines)) <= columns
        words = " ".join(lines)
        for needed in wanted:
            assert needed in words, needed


@each("lines", [0, 1])
@each("arguments", [
    SMALL, [*SMALL, "--json"], ["models", "list"], ["schema"], ["--help"],
])  # fmt: skip
def test_a_reader_that_stops(arguments: list[str], lines: int) -> None:
    """`planner ... | head -1`: no traceback, and not exit code 1, which means a bug of ours."""
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=CLEAN)  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    for _ in range(lines):
        process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    code = process.wait(timeout=60)
    assert "Traceback" not in said
    assert said == ""
    assert code in (0, 141, -signal.SIGPIPE)


def test_files_are_written_even_if_the_reader_stops(tmp_path: Path) -> None:
    """`planner solve ... -o plan.yaml | head -3` must leave the plan, and say nothing."""
    files = [tmp_path / "plan.yaml", tmp_path / "front.csv"]
    process = subprocess.Popen(
        [*COMMAND, *SMALL, "-o", str(files[0]), "--pareto", str(files[1])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 141, -signal.SIGPIPE)
    assert [path.exists() for path in files] == [True, True]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@each("arguments", [SMALL, [*SMALL, "--json"], ["models", "list"]])
def test_a_full_disk_behind_standard_output(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False, env=CLEAN)  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "space" in done.stderr


READY = [
    sys.executable, "-c",
    "import sys; from planner.cli.entry import main; print('ready', file=sys.stderr, flush=True); "
    "main()",
]  # fmt: skip


def started(*arguments: str) -> subprocess.Popen[str]:
    """A process of the command whose imports are done."""
    process = subprocess.Popen(
        [*READY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    return process


@each("after", [0.0, 0.3, 1.0])
def test_control_c(after: float, tmp_path: Path) -> None:
    """Exit code 130, one line, no traceback, no file, however early or late it comes."""
    target, front = tmp_path / "plan.yaml", tmp_path / "front.csv"
    process = started(*LONG, "-o", str(target), "--pareto", str(front))
    time.sleep(after)
    assert process.poll() is None, "chosen to take longer"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    assert process.returncode == 130
    assert out == ""
    assert not list(tmp_path.iterdir())
    assert len(err.splitlines()) == 1, "one line"
    assert "interrupted" in err


@each(("number", "code"), [
    (signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGHUP, ExitCode.HUNG_UP),
])  # fmt: skip
def test_termination_leaves_no_file(number: int, code: int, tmp_path: Path) -> None:
    process = started(*LONG, "-o", str(tmp_path / "plan.yaml"))
    time.sleep(0.5)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert not list(tmp_path.iterdir())


def test_standard_input_is_a_job_file() -> None:
    """`planner solve /dev/stdin` (or `<(...)`) reads a job like any other file."""
    job = "model: gpt3-125m\nhardware: h100-sxm5-80\nchips: 8\n"
    done = subprocess.run([*COMMAND, "solve", "/dev/stdin", "--json"], input=job, text=True,
                          capture_output=True, check=False, env=CLEAN)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["certificate"]["status"] == "optimal"


def test_a_terminal_that_cannot_print_unicode() -> None:
    """LANG=C: boxes and lines must not end in a UnicodeEncodeError."""
    done = run(*SMALL, LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr[-300:]
    assert step_time() in done.stdout


@each(("closed", "arguments", "code"), [
    (">&-", "hardware list", 0), (">&-", "solve --model x --chips 1", 2),
    ("2>&-", "solve --model x --chips 1", 2), (">&- 2>&-", "solve --model x --chips 1", 2),
    ("<&- >&- 2>&-", "models list --json", 0),
])  # fmt: skip
def test_closed_streams(closed: str, arguments: str, code: int) -> None:
    line = f'exec "$0" -m planner {arguments} {closed}'
    done = subprocess.run(["sh", "-c", line, sys.executable], capture_output=True, text=True,
                          timeout=60, check=False, env=CLEAN)  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_control_c_during_the_imports() -> None:
    code = (
        "import sys\n"
        "from planner.cli.entry import main\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@each(("does", "name", "ends"), [
    ("raise ImportError('initialization failed')", "SIGINT", (130, "interrupted\n")),
    ("raise TypeError('unhashable')", "SIGINT", (130, "interrupted\n")),
    ("raise InputError('sweep: needs Dask')", "SIGINT", (130, "interrupted\n")),
    ("raise SystemExit(0)", "SIGINT", (0, "")),
    ("return 0", "SIGINT", (130, "interrupted\n")),
    ("return 0", "SIGTERM", (143, "")),
    ("raise ImportError('initialization failed')", "SIGTERM", (143, "")),
    ("raise InputError('sweep: needs Dask')", "SIGHUP", (129, "")),
])  # fmt: skip
def test_a_signal_that_a_library_drops_or_takes_for_another_error(
    does: str, name: str, ends: tuple[int, str]
) -> None:
    """Of a command that had ended already, what it found counts."""
    code = (
        "import signal, sys\n"
        "from planner.base.errors import InputError\n"
        "from planner.cli import entry, main\n"
        "def run(_):\n"
        f"    try: exec('signal.raise_signal(signal.{name})')\n"
        f"    except BaseException: {does}\n"
        "main._run = run\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == ends


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "planner", "--version"], capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.startswith("planner ")


def test_a_file_name_that_the_locale_cannot_spell(tmp_path: Path) -> None:
    posix = {**CLEAN, "LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    asked = [*COMMAND, *SMALL, "-o", "plän.yaml"]
    done = subprocess.run(asked, cwd=tmp_path, env=posix, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "planner evaluate plän.yaml" in (tmp_path / "plän.yaml").read_text(encoding="utf-8")


def test_standard_output_has_answers_alone() -> None:
    """HiGHS writes there past Python, before what it solves is answered."""
    code = (
        "import ctypes, os, planner.cli.main\n"
        "from planner.cli.entry import main\n"
        "def run():\n"
        "    os.write(1, b'noise')\n"
        "    ctypes.CDLL(None).puts(b'noise')\n"
        "    print('answer')\n"
        "planner.cli.main.main = run\n"
        "main()\n"
    )
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("answer\n", "")
