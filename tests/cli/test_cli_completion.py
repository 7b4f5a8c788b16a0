"""Shells complete the values of flags: by the protocol of each script, and in real shells."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hardware_db
import models_db
from planner.base.vocabulary import ANY, CHOICES, MESH_AXES
from planner.cli.completing import _joined, completer_of, fixes, targets
from planner.objectives import OBJECTIVES
from planner.plan.choices import fixed_values
from planner.question.asked import ASKED
from planner.question.asked.words import FIELDS_WITH_WORDS, words_of
from planner.schedules import SCHEDULES

PROGRAM = """
import contextlib, io, json, os, sys
said = []
for variables in json.loads(sys.argv.pop()):
    sys.argv, kept = ["planner"], dict(os.environ)
    os.environ.update(variables)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        from planner.cli.entry import main
        main()
    said.append(out.getvalue())
    os.environ.clear()
    os.environ.update(kept)
print(json.dumps([said, "numpy" in sys.modules]))
"""
"""Answers a shell for each set of variables that it would set, in one process."""
SHELLS = ("bash", "zsh", "fish")


def variables_of(shell: str, line: str) -> dict[str, str]:
    """What the script of a shell sets for a line whose last word is completed."""
    variables = {"_PLANNER_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        words = [word for word in re.split(r" |(=)", line) if word is not None]
        words = [word for at, word in enumerate(words) if word or at == len(words) - 1]
        return variables | {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    return variables | {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}


def answered(shell: str, *lines: str) -> list[str]:
    """What the script of a shell gets for each line."""
    asked = json.dumps([variables_of(shell, line) for line in lines])
    done = subprocess.run([sys.executable, "-c", PROGRAM, asked],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.stderr == "", done.stderr
    said, numpy_is_loaded = json.loads(done.stdout)
    assert not numpy_is_loaded
    return list(said)


def values(shell: str, *lines: str) -> list[list[str]]:
    """The values that a shell offers for each line."""
    said = answered(shell, *lines)
    if shell == "zsh":
        return [re.findall(r'^(?:.*\(\()?"([^"]*)"', text, re.MULTILINE) for text in said]
    return [[row.partition("\t")[0] for row in text.splitlines()] for text in said]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_the_values_of_flags(shell: str) -> None:
    models, objectives, runs_in, fixed, flags = values(
        shell,
        "planner solve --model llama3-",
        "planner solve --objective e",
        "planner solve --runnable-in megatron,to",
        "planner solve --fix sharding=ze",
        "planner solve --lay",
    )
    assert models == ["llama3-70b", "llama3-8b"]
    assert objectives == ["energy", "edp"]
    assert runs_in == ["megatron,torchtitan", "megatron,torchtune"]
    assert [text.removeprefix("sharding=") for text in fixed] == ["zero1", "zero2", "zero3"]
    assert flags == ["--layout"]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_the_sections_and_the_flags_that_help_hides(shell: str) -> None:
    lines = ("planner solve --show time,fr", "planner evaluate --show la", "planner solve --layo")
    assert values(shell, *lines) == [["time,front"], ["launch"], ["--layout"]]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_what_starts_jobs_and_what_tunes(shell: str) -> None:
    asked = {
        "planner targ": ["targets"],
        "planner check plan.yaml --lo": ["--log"],
        "planner export plan.yaml --launcher k": ["kubernetes"],
        "planner export plan.yaml --to torcht": ["torchtitan", "torchtune"],
        "planner export plan.yaml --to deepspeed --target-version ": ["0.19", "0.18"],
        "planner solve --lora-targets q,a": ["q,all", "q,attention"],
        "planner solve --job q": ["qlora"],
        "planner solve --resume": ["--resume-from"],
        "planner evaluate --from au": ["auto"],
    }
    assert dict(zip(asked, values(shell, *asked), strict=True)) == asked


def test_bash_takes_words_at_an_equals_sign_apart() -> None:
    sharding, schedules, models = values(
        "bash",
        "planner solve --fix sharding=ddp,z",
        "planner solve --fix=schedule=zero",
        "planner solve --model=llama3-7",
    )
    assert (sharding[0], schedules, models) == ("ddp,zero1", ["zero-bubble"], ["llama3-70b"])
    assert _joined(["planner", "x", "a", "=", "b", "c"], 5) == (["planner", "x", "a=b", "c"], 3)
    assert _joined(["planner", "x", "a", "="], 3) == (["planner", "x", "a="], 2)
    assert _joined(["planner", "x", "a"], 2) == (["planner", "x", "a"], 2)


def test_what_is_said_of_a_flag_is_one_line_with_its_names_filled_in() -> None:
    (said,) = answered("fish", "planner solve --framew")
    assert said.count("\n") == 1
    assert "megatron" in said
    assert "{" not in said


@pytest.mark.parametrize("name", FIELDS_WITH_WORDS)
def test_a_field_completes_to_what_it_takes(name: str) -> None:
    complete = completer_of(name)
    assert complete is not None
    assert complete("") == list(words_of(name))
    assert complete("no-such-word") == []


def test_completed_names_are_those_of_the_databases_and_registries() -> None:
    assert list(words_of("model")) == list(models_db.list_models())
    machines = {*hardware_db.list_clusters(), *hardware_db.list_chips()}
    assert set(words_of("hardware")) == machines
    assert list(words_of("objective")) == list(OBJECTIVES)
    assert targets("mega") == ["megatron"]


def test_values_of_fixed_fields() -> None:
    assert fixes("") == [f"{name}=" for name in (*MESH_AXES, *CHOICES)]
    schedules = [text.removeprefix("schedule=") for text in fixes("schedule=")]
    assert sorted(schedules) == sorted(SCHEDULES)
    for name in (*MESH_AXES, *CHOICES):
        texts = [text.partition("=")[2] for text in fixes(f"{name}=")]
        apart = [text for text in texts if (name, text) != ("recompute", ANY)]
        assert len(fixed_values(name, apart)) == len(apart) > 1, name
    assert f"recompute={ANY}" in fixes("recompute=")
    assert fixes("sharding=zero1,zero") == ["sharding=zero1,zero2", "sharding=zero1,zero3"]
    assert fixes("no-such-field") == []


def test_other_fields_of_names_and_numbers() -> None:
    pools, axes = completer_of("pools"), completer_of("torus_axes")
    assert pools is not None
    assert axes is not None
    assert pools("dgx-h100-ndr=512,dgx-a100-8")[0] == "dgx-h100-ndr=512,dgx-a100-80-hdr=1"
    assert pools("dgx-h") == ["dgx-h100-ndr=", "dgx-h200-ndr="]
    assert "fsdp=2,tp=" in axes("fsdp=2,")
    assert not any(text.startswith("fsdp=2,fsdp") for text in axes("fsdp=2,"))
    assert completer_of("max_power") is None


def test_every_field_with_known_words_completes_in_every_command_that_has_it() -> None:
    known = {field.name for field in ASKED if completer_of(field.name)}
    assert known > {"model", "hardware", "framework", "objective", "fix", "pools"}
    code = (
        "import json; from typer.main import get_command; from planner.cli.main import app; "
        "print(json.dumps([[name, one.name, one._custom_shell_complete is not None] "
        "for name, command in get_command(app).commands.items() "
        "for one in getattr(command, 'params', ())]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True,
                          env={**os.environ, "_PLANNER_COMPLETE": "complete_bash"})  # fmt: skip
    found = {(command, name): does for command, name, does in json.loads(done.stdout)}
    for command in ("solve", "evaluate", "explain", "feasible"):
        completed = {name: does for (which, name), does in found.items() if which == command}
        assert all(completed[name] for name in known & completed.keys()), command
        assert {"model", "hardware", "framework"} < completed.keys()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with a home of its own and the command `planner`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    code = "import sys; sys.argv[0] = 'planner'; from planner.cli.entry import main; main()"
    script = folder / "planner"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{code}" "$@"\n')
    script.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    return {**kept, "HOME": str(tmp_path), "PATH": path, "TERM": "dumb", "COLUMNS": "200"}


def shell_of(name: str) -> str:
    """The path of a shell; without it the test is skipped."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def said_by(shell: str, home: dict[str, str], script: str) -> str:
    """What a shell prints of a script."""
    done = subprocess.run([shell_of(shell), "-c", script], env=home, cwd=home["HOME"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return done.stdout


def test_bash_after_the_documented_command(home: dict[str, str]) -> None:
    assert "bash completion installed" in said_by("bash", home, "planner --install-completion; :")
    tried = (
        "source ~/.bashrc; complete -p planner; COMP_WORDS=(planner solve --fix sharding = ze); "
        "COMP_CWORD=5; _planner_completion planner; echo ${COMPREPLY[@]}"
    )
    assert said_by("bash", home, tried).splitlines()[-1] == "zero1 zero2 zero3"


def test_fish_after_the_documented_command(home: dict[str, str]) -> None:
    assert "fish completion installed" in said_by("fish", home, "planner --install-completion; :")
    found = said_by("fish", home, "complete -C 'planner solve --fix sharding=ze'").splitlines()
    assert found == ["sharding=zero1", "sharding=zero2", "sharding=zero3"]


def test_zsh_after_the_documented_command(home: dict[str, str]) -> None:
    assert "zsh completion installed" in said_by("zsh", home, "planner --install-completion; :")
    terminal, inner = pty.openpty()
    zsh = subprocess.Popen([shell_of("zsh"), "-i"], env=home, cwd=home["HOME"], stdin=inner,
                           stdout=inner, stderr=inner, start_new_session=True)  # fmt: skip
    os.close(inner)
    try:
        heard(terminal, "# ", "$ ", "% ")
        for _ in range(2):  # the first key only loads the script
            os.write(terminal, b"planner solve --fix schedule=zer\t")
            found = heard(terminal, "zero-bubble", "\x07")
            os.write(terminal, b"\x15")
        assert "schedule=zero-bubble" in found, found
    finally:
        os.close(terminal)
        zsh.kill()
        zsh.wait()


def heard(terminal: int, *texts: str) -> str:
    """What a terminal shows until one of some texts is there; nothing for a minute is a failure."""
    found = ""
    while not any(text in found for text in texts):
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, found
        found += os.read(terminal, 1 << 16).decode(errors="replace")
    return found
