"""What lists, blocks, functions and commands of the shell leave is what bash makes of it.

Each line is a script of its own, and `P` what it starts; `#` in a line begins the next one of it.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.cases import each

from planner.frameworks.reading.shell.run import Shell

TEXT: dict[str, str] = {
    "loops": r"""
X=0; for a in 1 2; do for b in 1 2; do X=$((X+1)); break 2; done; done; P $X
X=0; for a in 1 2; do for b in 1 2; do continue 2; done; X=8; done; P $X
X=0; for a in 1 2; do for b in 1 2; do break 9; done; X=8; done; P $X
for a in 1 3; do for b in 1 2; do [ $b = 2 ] && continue 2; [ $a = 3 ] && break 2; P $b; done; done
f() { break; X=8; }; X=2; for i in 1 2; do f; P $i; done; P $X
X=0; for i in 1 2; do (break; X=9); X=$i; done; P $X
X=0; for i in 1 2; do { X=9; break; } | cat; done; P $X
X=0; while true; do X=$((X+1)); [ $X -ge 4 ] && break; done; P $X
X=0; until false; do X=$((X+1)); if [ $X = 3 ]; then break; fi; done; P $X
X=0; while :; do X=$((X+1)); (( X > 5 )) && break; done; P $X
for i in; do P no; done; P $? ; for i in 1; do false; done; P $?
while false; do :; done; P $?; X=1; until [ $X = 1 ]; do X=2; done; P $X
for ((i=0; i<2; i++)); do for j in a b; do P $i$j; [ $j = a ] && continue 2; done; done
break; continue; P a
A=1; B=1; for i in 1 2 3; do B=$A; A=$i; done; P $A $B
set -- 1 2; for i do P $i; shift; done; P $#
""",
    "functions": r"""
f() { P 1; }; f() { P 2; }; f
f() { P 1; }; unset -f f; f() { P 3; }; f; unset f; P gone
f() { g() { P new; }; }; g() { P old; }; g; f; g
(f() { P in; }; f); f 2>/dev/null; P out
f() { return 3; P no; }; f; P $?
f() { false; }; f || P a; f && P b; ! f && P c
f() { if [ $1 = 1 ]; then return; fi; P $1; }; f 1; f 2
f() { for i in 1 2 3; do [ $i = 2 ] && return; P $i; done; }; f; P end
f() ( X=8; P $X ); X=2; f; P $X
function f { P $1; }; f a; function g() { P $1; }; g b
f() { local X=4; g; P $X; }; g() { X=8; }; X=2; f; P $X
f() { local X; P "[$X]"; X=8; }; X=2; f; P $X
f() { local X=$X; X=${X}1; P $X; }; X=2; f; P $X
f() { local X=4; local X; P $X; }; X=2; f
f() { declare X=8; typeset Y=8; P $X $Y; }; X=2; Y=2; f; P $X $Y
f() { export X=8; readonly Y=8; }; X=2; f; P $X $Y
f() { local A=(1 2); A+=(3); P ${A[@]}; }; A=(9); f; P ${A[@]}
f() { local -a A=(1); g; P ${A[@]}; }; g() { A+=(2); }; f; P ${A[@]}
f() { shift; P $# $1; set -- z; P $1; }; set -- a b; f c d; P $1 $#
f() { P $#; }; f; f a "b c"; set -- x; f "$@" y
f() { X=$1; }; X=2; f 8 | cat; P $X; f 8 & wait; P $X; (f 8); P $X; f 8; P $X
f() { local X=$(false); P $?; X=$(true); P $?; }; f
f() { { return 2; }; P no; }; f; P $?
f() { eval 'return 4'; P no; }; f; P $?
g() { P g; return 1; }; f() { g && P a || P b; }; f
f() { [ $1 -gt 0 ] || return 0; P $1; f $(($1-1)); }; f 3
f() { unset X; P ${X:-none}; }; X=2; f; P ${X:-none}
echo() { P "$@"; }; echo a; command echo b > /dev/null; unset -f echo
f() { exit 3; }; (f; P no); P $?
""",
    "status": r"""
false; P $?; true; P $?; (exit 4); P $?; ! true; P $?
false | true; P $?; true | false; P $?; set -o pipefail; false | true; P $?
X=$(false) && P a || P b; X=$(true) && P c
X=8; P $?; { false; }; P $?; (false) || P sub
false && P a || P b; true || P c && P d; false || false || P e
if false; then :; fi; P $?; if true; then false; fi; P $?; case a in b) ;; esac; P $?
[ 1 = 2 ]; P $?; [[ a == a ]]; P $?; ((0)); P $?; ((5)); P $?
set -e; false || true; ! true; if false; then :; fi; P a; false; P b
set -e; f() { false; P in; }; f || P c; f; P no
set -e; (false; P a) || P b; (false; P c); P no
set -e; true && false || true; false && true; P a; set +e; false; P b
set -e; { false; P a; } && P b; P c
set -e; while false; do :; done; until true; do :; done; P a; [ 1 = 2 ]; P no
set -e; local X=1 2>/dev/null || P top
set -euo pipefail; true | false | true; P no
set -ex; f() { return 1; }; if f; then P a; else P b; fi; f; P c
shift 5; P $?; set -- a; shift; P $? $#; shift; P $?
unset X; P $?; export X; P $?; : $X; P $?; eval false; P $?; eval; P $?
return 2>/dev/null; P a; true | (exit 3); P $?; false & P $?; wait
""",
    "subshells": r"""
X=2; (X=8; P $X); P $X; { X=8; }; P $X
set -- 2; (set -- 8 9; P $#); P $1 $#
(exit 0); P a; (exit 1) || P b; { exit 0; }; P no
X=2; { X=8; } | cat; P $X; X=8 | true; P $X; echo 8 | read X; P $X
X=2; for i in 8; do X=$i; done | cat; P $X; X=9 & wait; P $X
X=2; (X=3; (X=4; P $X); P $X); P $X
X=2; : | { X=3; P $X; }; P $X; : | if true; then X=4; fi; P $X
X=1; (unset X; P ${X-no}); P $X; (exec true; P no); P b
cd /; (cd /usr); X=2; (declare X=3; P $X); P $X; (local X 2>/dev/null); P $X
X=2; if (X=3; true); then P $X; fi; (X=4; false) || P $X
a() { P a; }; (unset -f a; a 2>/dev/null); a; (a() { P b; }; a); a
(trap 'P bye' EXIT; P in); P out; trap 'P end $X' EXIT; X=3
shopt -s lastpipe; X=2; echo | X=3; P $X
exit 0 | true; P a; exit 0 & wait; P b
""",
    "commands": r"""
X=2; X=8 true; P $X; X=8 eval 'P $X'; P $X; X=8 P $X
f() { P $X; X=3; }; X=2; X=8 f; P $X
X=2; X=3 Y=$X; P $X $Y; X=4 Z=$X eval 'P $X $Z'; P "$X" "$Z"
eval X=8; P $X; N=X; eval "$N=9"; P $X; eval 'X=1; Y=2'; P $X $Y; eval "P a; P b"
read X <<< 8; P $X; read X Y <<< "1 2 3"; P "$X" "$Y"; read -r X <<< ' a b '; P "$X"
IFS=, read X Y <<< a,b,c; P "$X" "$Y"; IFS=: read -ra A <<< a:b:; P ${#A[@]} "${A[1]}"
read -ra A <<< "1 2 3"; P ${A[1]} ${#A[@]}; read -a B <<< ''; P ${#B[@]}
mapfile -t A <<< a; P "${A[@]}"; readarray -t A <<< 'x y'; P "${A[0]}" ${#A[@]}
X=2; while read -r l; do X=$l; done <<< 8; P $X
X=2; printf -v X %d 8; P $X; printf -v Y '%s-%s' a b; P $Y
set -- -n 8 c; while getopts n: o; do case $o in n) X=$OPTARG;; esac; done; P $X $OPTIND
let X=2+2; P $X; let 'X = 3' Y=4; P $X $Y
set a b c; P $2 $#; set -e x; P $1; set --; P $#; set - q; P $1; set +e -- r; P $1
set -- a b c d; shift 2; P $1 $#; shift 3; P $#; set -o pipefail z; P $1
case a in a) P 1;& b) P 2;; c) P 3;; esac; case a in a) P 4;;& *) P 5;; esac
case a in x) ;; (a) P 6;; esac; case b in a|b) P 7;; *) P 8; esac; case c in a) P 9; esac
if true; then P 1; elif P no; then :; else P no; fi; if ! false; then P 2; fi
X=1; time X=2; P $X; time P a; ! X=3; P $X
command X=1 2>/dev/null; command true && P a; builtin true && P b; command -v nothere || P c
alias P=false; P a; unalias -a; hash -r; type P > /dev/null; P b; ulimit -c 0; umask 22; P c
X=2; unset -v X; P ${X:-4}; A=(1 2); unset A; P ${#A[@]}; X=1; unset X Y; P ${X-u}
X=2; export X; export -n X; P $X; export X=3 Y=4; P $X $Y; declare -x Z=5; P $Z
X=2; exec 3>&1; P $X; exec 3>&-; P a 3>&1; P b 2>&1 >/dev/null; >/dev/null P c; P d </dev/null
X=2; cat <<< $X > /dev/null; { P a; P b; } > /dev/null; P c 2>/dev/null
X=2; select X in a b; do break; done < /dev/null; P $X
X=2; coproc { X=3; }; wait; P $X
X=2; source /dev/null; . /dev/null; P $X; env X=8 true; P $X; nohup true > /dev/null 2>&1; P $X
trap 'X=5' USR1; X=2; P $X; trap - USR1; trap '' INT; P $X
set -a; X=1; set +a; P $X; set -u; P ${X:-2}; set -f; P "*"; set +f
X=1; [ -n "$X" ] && Y=2 || Y=3; P $Y; [[ -z $X || $X = 1 ]] && P a; [ ! -z "$X" -a 1 = 1 ] && P b
""",
}


def runs(lines: list[str], folder: Path) -> list[list[list[str]]]:
    """The commands that bash starts of each."""
    prelude = 'P() { { printf "%s\\036" "$@"; printf "\\n"; } >> "$OUT"; }\n'
    text = prelude + "".join(f"(\n{line}\n) 2> /dev/null\nP ===\n" for line in lines)
    environment = {"PATH": "/usr/bin:/bin", "OUT": str(folder / "out")}
    bash = str(shutil.which("bash"))
    given = {"env": environment, "cwd": folder, "stdin": subprocess.DEVNULL}
    subprocess.run([bash, "-c", text], check=False, **given)
    printed = (folder / "out").read_text().split("===\036\n")
    return [[one.split("\036")[:-1] for one in own.split("\n") if one] for own in printed]


def fits(read: list[str], started: list[str]) -> bool:
    """Whether words are those that bash gives, or not known; such a word may be any number."""
    pieces = [".*" if "$" in one else re.escape(f"{one}\036") for one in read]
    return bool(re.fullmatch("".join(pieces), "".join(f"{one}\036" for one in started), re.DOTALL))


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@each("part", [*TEXT])
def test_commands_are_those_that_bash_starts(part: str, tmp_path: Path) -> None:
    lines = TEXT[part].strip().split("\n")
    unknown = 0
    assert lines
    for line, started in zip(lines, runs(lines, tmp_path), strict=False):
        shell = Shell("x", exact=True).read(line)
        read = [one[1:] for one in shell.commands if one[0] == "P"]
        left = iter(started)
        assert all(any(fits(one, own) for own in left) for one in read), (line, read, started)
        assert len(read) == len(started) or shell.notes, (line, read, started)
        unknown += any("$" in word for one in read for word in one) or bool(shell.notes)
    assert unknown <= MOST_UNKNOWN


MOST_UNKNOWN = 10
"""Lines of each part that are not known; else a reader that knows nothing would pass."""
