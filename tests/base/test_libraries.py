"""Libraries that are missing, and those that are there and cannot be imported."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import each

import planner as package
from planner.base.errors import InputError
from planner.base.libraries import broken_library, library
from planner.cli.defects import unexpected

ROOT = Path(package.__file__).parents[1]


def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    """Libraries in front on the path."""
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))


def test_one_that_is_not_installed_is_said_to_be_missing() -> None:
    for name in ("no_such_library", "no_such_library.part"):
        with pytest.raises(InputError, match=r"^get it$"):
            library(name, "get it")


@each(("text", "package"), [
    ("raise ImportError('libfoo.so: no such file')", "its_own"),
    ("raise ValueError('numpy.dtype size changed')", "its_own"),
    ("import other_one", "other_one"),
    ("import no_such_library.part", "no_such_library"),
    ("from json import nothing_of_the_kind", "its_own"),
    ("raise MemoryError", ""),
    ("import planner.nothing_of_the_kind", ""),
])  # fmt: skip
def test_one_that_is_there_and_broken_is_named(
    text: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, monkeypatch, its_own=text, other_one="raise AttributeError")
    with pytest.raises(Exception) as caught:  # noqa: PT011  (whatever a library raises)
        library("its_own", "get it")
    assert not isinstance(caught.value, InputError), "it is installed"
    assert broken_library(caught.value) == package


def test_what_a_library_raises_at_work_is_no_broken_library() -> None:
    with pytest.raises(KeyError) as caught:
        library("json", "").loads("{}", object_hook=lambda _: {}["a"])
    assert broken_library(caught.value) == ""


def test_it_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    error = ModuleNotFoundError("IMPORTANT:\n\n  read \x1b this", name="google.protobuf.message")
    assert unexpected(error, ["solve"]) == 2
    assert capsys.readouterr().err == (
        "error: protobuf cannot be imported (ModuleNotFoundError: IMPORTANT: read \\x1b this); "
        "planner doctor tries every library\n"
    )


def test_a_command_ends_with_a_line_about_a_broken_library(tmp_path: Path) -> None:
    (tmp_path / "ortools.py").write_text("raise ImportError('broken')", encoding="utf-8")
    words = ("collective", "synthesize", "--topology", "ring:6", "--collective", "allgather")
    code = "from planner.cli.entry import main; main()"
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--pareto"], cwd=tmp_path, text=True,
        capture_output=True, check=False, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "",
        "error: ortools cannot be imported (ImportError: broken); planner doctor tries every "
        "library\n",
    )  # fmt: skip


def test_a_library_that_takes_ctrl_c_does_not_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With that of batch systems an interrupted study ended with 0 and said nothing."""
    text = "import signal, sys\nsignal.signal(signal.SIGINT, lambda *_: sys.exit())\n"
    put(tmp_path, monkeypatch, takes_ctrl_c=text)
    before = signal.getsignal(signal.SIGINT)
    assert library("takes_ctrl_c", "").__name__ == "takes_ctrl_c"
    assert signal.getsignal(signal.SIGINT) is before
