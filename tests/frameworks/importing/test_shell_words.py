"""Words, values and sums of shell text: equal to what bash makes of them, or not known."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from support.cases import each
from support.shell_cases import agrees, of_bash, of_reader
from support.shell_random import pattern_script, sum_script, word_script

from planner.frameworks.reading.shell.run import Shell

CASES = Path(__file__).with_name("shell_words.txt")
NOT_ALL_KNOWN = 15
"""Of the cases; each more is one that was followed."""
BASH = shutil.which("bash") or ""
needs_bash = pytest.mark.skipif(not BASH, reason="there is no bash")


def differing(texts: list[str], folder: Path) -> tuple[list[object], int]:
    """Scripts that are read otherwise than bash has them, and how many are not all known."""
    wrong: list[object] = []
    unknown = 0
    for text, wanted in zip(texts, of_bash(BASH, texts, folder), strict=True):
        found, noted = of_reader(text)
        unknown += any("$" in word for words in found for word in words) or noted
        if not agrees(found, wanted, noted):
            wrong.append((text, found, wanted))
    return wrong, unknown


@needs_bash
def test_each_line_is_what_bash_makes_of_it(tmp_path: Path) -> None:
    """Each line is a script of its own."""
    wrong, unknown = differing(CASES.read_text(encoding="utf-8").splitlines(), tmp_path)
    assert wrong == []
    assert unknown <= NOT_ALL_KNOWN


@needs_bash
@each("script", [sum_script, pattern_script, word_script])
def test_random_scripts_are_what_bash_makes_of_them(
    script: Callable[[Random], str], tmp_path: Path
) -> None:
    random = Random(4)
    assert differing([script(random) for _ in range(60)], tmp_path)[0] == []


EXPANSIONS = """
$X ${X} "$X" ${X-d} ${X:-d} ${U-d} ${U:-d} ${U=d} ${V:=d} ${X?m} ${X:?m} ${X+d} ${X:+d} ${U+d}
${X:1} ${X:1:2} ${X:(-2):1} ${@} ${@:1} ${@:1:1} ${*} ${#} ${1} ${A[@]:1} ${A[*]:0:1} ${A[1]}
${A[@]} ${!N} ${!A[@]} ${!A[*]} ${#X} ${#A[@]} ${#A[1]} ${#@} ${#*} ${X#a} ${X##a*} ${X%c} ${X%%b*}
${A[@]#a} ${X/b/x} ${X//b/x} ${X/#a/x} ${X/%c/x} ${X/b} ${A[@]/a/x} ${X^} ${X^^} ${X,} ${X,,}
${X^^b} ${X,,B}
${X@U} ${X@u} ${X@L} $((1+1)) $(pwd) `pwd` {1,2} {1..3} a{b,c}d 'a' "a" a\\b $'a\\tb'
"""
NOT_FOLLOWED = """
${!P*} ${!P@} ${X@Q} ${X@E} ${X@P} ${X@A} ${A[@]@K} ${A[@]@a} ${A[@]@k} $$ $! $- ${X/b/&&}
<(echo) *.none ~nobody/x ${X~} ${X~~}
"""
SUMS = """
X++ X-- ++X --X -X +X !X ~X X**2 X*2 X/2 X%2 X+2 X-2 X<<2 X>>1 X<=2 X>=2 X<2 X>2 X==2 X!=2 X&2 X^2
X|2 X&&0 X||0 X?1:2 Y=X Y*=2 Y/=2 Y%=3 Y+=2 Y-=2 Y<<=2 Y>>=1 Y&=3 Y^=3 Y|=8 1,2 (1+2)*3 A[1]
A[X-4]=9
010 0x1f 2#11 64#_
"""
BEGINS = "X=abc; N=X; A=(ab cd); set -- p q; "


@needs_bash
@each("operator", EXPANSIONS.split())
def test_every_expansion_is_followed(operator: str) -> None:
    found, _ = of_reader(f"{BEGINS}P {operator}")
    assert found
    assert not any("$" in word or "`" in word for word in found[0])


@each("operator", NOT_FOLLOWED.replace("<(echo)", "").split())
def test_what_is_not_followed_is_not_known(operator: str) -> None:
    found, noted = of_reader(f"{BEGINS}P {operator}")
    assert noted or "$" in "".join(found[0])


@needs_bash
def test_every_operator_of_sums_is_followed(tmp_path: Path) -> None:
    texts = [f'X=5; Y=6; A=(1 2); P $(({one})) $X $Y "${{A[@]}}"' for one in SUMS.split()]
    assert differing(texts, tmp_path) == ([], 0)


@each("text", [
    "P " + "{1..9}" * 9, "P " + "{a,b}" * 40, "P " + "{" * 1000,
    "X=" + "a" * 4000 + "; P ${X%%" + "*a" * 40 + "b}",
    "X=" + "a" * 500 + "; P ${X//" + "*a" * 20 + "b/c}", "[[ " + "a" * 4000 + " =~ ^(a|a)*a*b$ ]]",
    "shopt -s extglob; X=" + "a" * 4000 + "; P ${X##" + "*(" * 4 + "a|aa" + ")" * 4 + "b}",
    "P $((" + "(" * 3000 + "1" + ")" * 3000 + "))", "X=X+1; P $((X))", "A=B[A]; B=A; P $((A))",
    "P $((" + "1+" * 5000 + "1))", "X=1; P " + "${X:-" * 60 + "}" * 60,
    "P " + "$((" * 60 + "1" + "))" * 60, "A=(1); P ${A[" + "x" * 60_000 + "@]}",
])  # fmt: skip
def test_no_word_takes_long(text: str) -> None:
    before = time.process_time()
    of_reader(text)
    assert time.process_time() - before < 1.0


def test_what_the_shell_sets_is_never_without_a_value() -> None:
    for name in ("RANDOM", "HOME", "UID", "HOSTNAME", "PATH", "SECONDS", "LINENO", "PPID", "USER"):
        assert "$" in Shell("x").read(f"P ${{{name}:-8}}").commands[0][1], name
