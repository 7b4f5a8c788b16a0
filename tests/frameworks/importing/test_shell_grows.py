"""Shell text of which there is much: the time to read it grows no faster than the text."""

import time

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.frameworks.reading.shell.run import Shell
from planner.frameworks.reading.shell.states import Array, Layer

MOST_S = 1.0
"""A fifth of it is usual; where the time grew with the square, each took twice as much or more."""
TEXTS: dict[str, tuple[int, str]] = {
    "branches": (2500, "if [ $X# = 1 ]; then A#=1; else A#=2; fi\n"),
    "cases": (2500, "case $X in #) A#=1;; *) A#=2;; esac\n"),
    "parts that may be run": (4000, "[ -f x# ] && A#=1\n"),
    "loops": (3500, "for x in $Y; do A#=1; done\n"),
    "elements added": (12_000, "A+=(--x# #)\n"),
    "elements by number": (12_000, "A[#]=#\n"),
    "elements by key": (8000, "A[k#]=#\n"),
}
ONE: dict[str, str] = {
    "arms of an if": "if [ $A = 1 ]; then B=1\n{}fi\n".format(
        "".join(f"elif [ $A = {at} ]; then B{at}=1\n" for at in range(3000))
    ),
    "arms of a case": "case $A in\n{}esac\n".format(
        "".join(f"{at}) B{at}=1;;\n" for at in range(4000))
    ),
    "patterns of an arm": "case $A in\n{}z) B=1;;\nesac\n".format("a|" * 30_000),
}


@pytest.mark.parametrize("name", [*TEXTS, *ONE])
def test_much_text_is_read_in_time(name: str) -> None:
    times, piece = TEXTS.get(name, (0, ""))
    text = ONE.get(name) or "".join(piece.replace("#", str(at)) for at in range(times))
    before = time.process_time()
    Shell("run.sh").read(text)
    assert time.process_time() - before < MOST_S


LETTERS = "run.sh: its variables come to more than 16,777,216 letters"
MANY = "A=(" + f"{'x' * 100} " * 1000 + ")\n"


@each("text", [
    MANY + 'P "${A[@]}"\n' * 200, MANY + "B=${A:+x}\n" * 200, MANY + "B=${A[1]}\n" * 200,
    MANY + "A[1]=y\n" * 200, MANY + "if [ $X ]; then A+=(y); fi\n" * 200,
    MANY.replace("(x", "([3]=1 x") + "B=${A[3]}\n" * 200,
    "set -- " + "x " * 20_000 + "\nshift" * 900, "A=" + "a" * 4000 + "\n" + "B=${A#b}\n" * 70,
])  # fmt: skip
def test_what_goes_through_many_letters_each_time_is_refused(text: str) -> None:
    """Each took the time of all of them, which nothing counted."""
    with pytest.raises(InputError) as error:
        Shell("run.sh").read(text)
    assert str(error.value) == LETTERS


def test_a_text_that_sets_little_is_not_refused_for_its_variables() -> None:
    """A command counted as 512 letters of variables."""
    read = Shell("run.sh").read("true && " * 33_000 + "P --a 1")
    assert read.commands[-1] == ["P", "--a", "1"]


def test_tests_that_may_choose_count_as_commands() -> None:
    read = Shell("run.sh").read("[ -f x ] && A=1 || A=2\n" * 7000)
    assert [*read.changed] == ["A"]


def test_commands_within_loops_are_counted() -> None:
    words = "x " * 256
    with pytest.raises(InputError) as error:
        Shell("run.sh").read(f"for i in {words}; do for j in {words}; do :; done; done")
    assert str(error.value) == "run.sh: it comes to more than 65,536 commands and blocks"


@each(("text", "value", "changed"), [
    ("A=(a)\nif [ $X ]; then A+=(b); else A+=(c); fi\nA+=(d)\n", ["a", "d"], []),
    ("A=(a)\nif [ $X ]; then A=(b c); else A=(b c); fi\nA+=(d)\n", ["b", "c", "d"], []),
    ("A=(a)\nB=(${A[@]})\nA+=(b)\n( A+=(c); A[0]=z )\nA+=(d)\n", ["a", "b", "d"], []),
    ("A=(a b)\nA[1]=c\nA[2]=d\n", ["a", "c", "d"], []),
    ("f() { local A; A=(x); A+=(y); }\nA=(a)\nf\nA+=(b)\n", ["a", "b"], []),
    ("A=1\nif [ $X ]; then unset A; fi\n", None, ["A"]),
    ("if [ $X ]; then if [ $Y ]; then A=1; fi; A=2; else A=2; fi\n", "2", []),
    ("A=1\ncase $X in a) A=2;; b) ;; esac\n", None, ["A"]),
    ("A=1\nif [ $X ]; then ( A=2; exit ); fi\n", "1", []),
])  # fmt: skip
def test_what_parts_leave_of_a_variable(text: str, value: object, changed: list[str]) -> None:
    """None of several parts changes what another one begins with."""
    read = Shell("run.sh").read(text)
    assert (read.variables.get("A"), [*read.changed]) == (value, changed)


def test_layers_are_mappings_that_leave_those_below_as_they_are() -> None:
    below = Layer[str]()
    below.update(a="1", b="2", c="3")
    above = Layer(below)
    above.update(b="4", d="5")
    del above["a"]
    assert dict(above) == {"b": "4", "c": "3", "d": "5"}
    assert (len(above), "a" in above, above.get("a"), above.pop("e", "6")) == (3, False, None, "6")
    assert dict(below) == {"a": "1", "b": "2", "c": "3"}
    assert {*above.own} == {"a", "b", "d"}


def test_arrays_count_what_they_hold() -> None:
    first = Array(["a", "[k]=1"])
    more, other = first.added(["bc"]), first.added(["d"])
    last = more.replaced(1, "e")
    assert ([*first], [*more], [*other]) == (["a", "[k]=1"], ["a", "[k]=1", "bc"],
                                             ["a", "[k]=1", "d"])  # fmt: skip
    assert [one.letters for one in (first, more, other, last)] == [8, 11, 10, 7]
    assert [one.keyed for one in (first, more, other, last)] == [1, 1, 1, 0]
    assert more.begins_with(first)
    assert other.begins_with(first)
    assert not last.begins_with(first)
    assert not first.begins_with(more)
