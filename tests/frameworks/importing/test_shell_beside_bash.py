"""What is read of shell text is what bash makes of it, or is not known."""

import shutil
import subprocess
from pathlib import Path

import pytest

from planner.frameworks.reading.commands import command_in
from planner.frameworks.reading.shell.run import Shell

TEXT = r"""
A=1; B=${A:-2}; P --a $A --b "$B" ${C:-3} ${A:+set} "${A:-x}y"
A="--x 1 --y 2"; P $A "$A"
A=(--x 1 --y "2 3"); P "${A[@]}" ${#A[@]} "${A[*]}"; A+=(--z); P "${A[@]}"
A=(a b c); P ${A[1]} ${A[-1]} "${A[@]:1}" "${A[@]:0:2}" "${A[@]: -1}" x${A[@]:1:1}
X=a.b.c; P ${X%.*} ${X%%.*} ${X#*.} ${X##*.} ${X/./_} ${X//./_} ${X^^} ${#X} ${X:2:1} ${X: -1}
N=8; P $((N*2)) $(( N / 3 )) $((N%3)) $(((N+1)*2))
set -- a b c; P $1 $# "$*" "${@:2}" "${@:1:1}" "${*:2}"; shift; P "$@"
f() { local a=$1; shift; P --a $a $# "$@"; }; a=9; f 1 2 3; P $a
if [ 1 -eq 1 ] && [[ abc == a* ]]; then P yes; else P no; fi
X=3; case $X in 1|2) P low;; 3) P three;; *) P other;; esac
for i in 1 2 "3 4"; do P $i "$i"; done; P $i
O=(); for n in q k v; do O+=("--${n}_proj"); done; P "${O[@]}"
for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; P $i; done
for ((i = 0; i < 6; i += 2)); do P $i; done; P $i
for t in "$@"; do P no; done; set -- x y; for t; do P $t; done
L="1 2"; for i in $L; do for j in a b; do P $i$j; done; done
i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; until (( i == 0 )); do (( i-- )); done; P $i
X=$'a\tb\'c'; P "$X" $'d e'
T=4; true && T=2; false && T=3; P $T; { T=5; }; ( T=6 ); P $T
""".strip()
STUB = '#!/bin/sh\nfor one in "$@"; do printf "%s\\036" "$one"; done >> "$OUT"\necho >> "$OUT"\n'


def test_commands_are_those_that_bash_starts(tmp_path: Path) -> None:
    """Each line is a script of its own; its commands P get the same words in the same order."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    (tmp_path / "P").write_text(STUB)
    (tmp_path / "P").chmod(0o755)
    lines = "".join(f"(\n{line}\n)\nP ===\n" for line in TEXT.split("\n"))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "OUT": str(tmp_path / "out")}
    subprocess.run([bash, "-c", lines], env=environment, check=True, cwd=tmp_path)
    printed = (tmp_path / "out").read_text().split("===\036\n")
    for line, own in zip(TEXT.split("\n"), printed, strict=False):
        started = [one.split("\036")[:-1] for one in own.split("\n") if one]
        read = Shell("x", exact=True).read(line)
        assert ([one[1:] for one in read.commands if one[0] == "P"], read.notes) == (started, []), (
            line
        )


def test_what_a_loop_starts_again_is_named() -> None:
    text = "for lr in 1 2; do\n  x t.py --lr $lr\ndone\n"
    found = command_in(text, "run.sh", {"--lr"}, "a program")
    assert found.words == ["--lr", "1"]
    assert found.notes == (
        "line 2: it is started several times, with other arguments; the first are read",
    )
    again = Shell("x").read("while true; do P $A; sleep 1; done")
    assert [one for one in again.commands if one[0] == "P"] == [["P", "$A"]]
    assert again.notes == []
    unknown = Shell("x").read("for f in *.txt {1..3}; do A=1; done; for i in $N; do B=$i; done")
    assert not {"A", "B"} & {*unknown.variables}
    assert len(unknown.notes) == 2
    assert Shell("x").read("P $((1 << 2)) b").commands == [["P", "4", "b"]]
