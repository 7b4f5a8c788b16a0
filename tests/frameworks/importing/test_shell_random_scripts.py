"""Random scripts leave what bash leaves, or what is not known."""

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from frameworks.importing.shell_scripts import Scripts
from frameworks.importing.test_shell_control_beside_bash import fits
from planner.frameworks.reading.shell.run import Shell

STUBS = r"""
P() { { printf "%s\036" "$@"; printf "\n"; } >> "$OUT"; }
U() { ANSWERS=${ANSWERS:1}${ANSWERS:0:1}; return ${ANSWERS:0:1}; }
"""
ANSWERS = (("01", "1 2"), ("1", ""))
"""What `U` returns, one after another, and what the environment holds."""
SEEDS = range(20, 36)


def last_of_bash(text: str, folder: Path, answers: str, given: str) -> list[str] | None:
    """The last words that are shown; None: the script ends before."""
    out = folder / "out"
    out.write_text("")
    environment = {"PATH": "/usr/bin:/bin", "OUT": str(out), "ANSWERS": answers, "UNK": given}
    subprocess.run(
        [str(shutil.which("bash")), "-c", STUBS + text], env=environment, cwd=folder, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
    )  # fmt: skip
    shown = [line.split("\036")[:-1] for line in out.read_text().split("\n") if line]
    return shown[-1] if shown and shown[-1][:1] == ["end"] else None


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_what_random_scripts_leave(tmp_path: Path) -> None:
    compared = known = 0
    for seed in SEEDS:
        text = Scripts(Random(seed)).script()
        shell = Shell("x", exact=True).read(text)
        read = [one[1:] for one in shell.commands if one[0] == "P"]
        for answers, given in ANSWERS:
            left = last_of_bash(text, tmp_path, answers, given)
            if left is not None and read and read[-1][0] == "end":
                assert fits(read[-1], left), (seed, answers, text)
                compared += 1
                known += not any("$" in one for one in read[-1])
    assert compared >= len(SEEDS) // 2
    assert known >= compared // 4
