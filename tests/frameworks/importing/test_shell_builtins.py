"""Every command of the shell itself is followed, or does nothing, or is not known after it."""

import pytest
from support.cases import each

from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.steps import builtins

BUILTINS = """
. : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare
dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill
let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt
source suspend test times trap true type typeset ulimit umask unalias unset wait
""".split()  # noqa: SIM905
"""`compgen -b` of bash 5.2."""
KEYWORDS = {
    "if": "if true; then X=2; fi", "then": "if true; then X=2; fi",
    "elif": "if false; then :; elif true; then X=2; fi",
    "else": "if false; then :; else X=2; fi", "fi": "if true; then X=2; fi",
    "time": "time X=2", "for": "for X in 1 2; do :; done", "in": "for X in 1 2; do :; done",
    "until": "until [ $X = 2 ]; do X=2; done", "while": "while [ $X != 2 ]; do X=2; done",
    "do": "for X in 2; do :; done", "done": "for X in 2; do :; done",
    "case": "case a in a) X=2;; esac", "esac": "case a in a) X=2;; esac",
    "coproc": "Y=2; coproc { X=3; }; X=$Y", "select": "select X in 1 2; do break; done",
    "function": "function f { X=2; }; f", "{": "{ X=2; }", "}": "{ X=2; }", "!": "! X=2",
    "[[": "[[ a == a ]] && X=2", "]]": "[[ a == a ]] && X=2",
}  # fmt: skip
"""`compgen -k` of bash 5.2, each with a script after which X is 2, or not known."""


@pytest.mark.parametrize("name", BUILTINS)
def test_every_builtin_is_in_one_class(name: str) -> None:
    classes = (
        {*builtins.OWN}, {*builtins.DECLARING}, {*builtins.TESTS}, {*builtins.OUTSIDE},
    )  # fmt: skip
    assert sum(name in one for one in classes) == 1
    assert len(BUILTINS) == 61


@pytest.mark.parametrize("name", builtins.HARMLESS)
def test_what_does_nothing_leaves_all_as_it_is(name: str) -> None:
    read = Shell("x", exact=True).read(f"X=1\nset -- a\n{name} X f\nP $X $1\n")
    assert read.commands == [["P", "1", "a"]]


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_every_keyword_is_followed(keyword: str) -> None:
    found = Shell("x", exact=True).read(f"X=1\n{KEYWORDS[keyword]}\n").variables.get("X")
    assert found in ("2", None)
    assert (found is None) == (keyword == "select")


@each(
    "text",
    [
        "enable -n test", "compgen -F f", "jobs -x export X=2", "eval $U", 'eval "$(cat env)"',
        "source <(cat env)", "mapfile -C f -c 1 L", "for i in 1; do break $U; done",
        "read $U", "unset $U", "printf -v $U 2",
    ],
)  # fmt: skip
def test_what_may_set_anything_leaves_nothing_known(text: str) -> None:
    read = Shell("x", exact=True).read(f"X=1\n{text}\nP $X ${{Y:-4}}\n")
    assert read.commands[-1] == ["P", "$X", "${Y:-4}"]


@each(
    "text",
    [
        "read X", "read -a X < f", "read -n 1 X <<< 8", "mapfile X < f", "readarray -t X < <(f)",
        "printf -v X %d 2", "printf -v 'X[1]' 2", "getopts a: X", "wait -n -p X", "coproc X { f; }",
        "trap X=2 DEBUG", "trap 'X=2' ERR; X=3",
        "f() { declare -g X=2; }; g() { local X=4; f; }; g",
    ],
)  # fmt: skip
def test_what_is_named_is_not_known(text: str) -> None:
    read = Shell("x", arguments=["-a", "b"], exact=True).read(f"X=1\nW=5\n{text}\nP $X $W\n")
    assert read.commands[-1] == ["P", "$X", "5"]


def test_a_command_from_outside_changes_no_variable() -> None:
    read = Shell("x", exact=True).read("X=1\npython set.py X=2 --X 3\n./do X\nenv X=4 true\nP $X\n")
    assert read.commands[-1] == ["P", "1"]
