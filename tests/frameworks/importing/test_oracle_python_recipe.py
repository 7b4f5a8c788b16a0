"""Random recipes in Python are run, with what is not known drawn at random: what was read holds."""

import copy
from random import Random
from types import SimpleNamespace
from typing import Any

from planner.frameworks.reading.python.recipe import python_recipe

NAMES = ["a", "b", "c"]
OBJECTS = ["cfg.model", "cfg.t", "m", "o", "q"]
FIELDS = [f"{one}.{name}" for one in OBJECTS for name in "ab"] + ["cfg.t.o.a"]
READ = ["model.a", "model.b", "t.a", "t.o.a"]
HEAD = """\
A = 2
def own(n): return n
def some(n=A, k=3):
    if n == 2: return k
    n = n * 2
    return n
def tune(m, v=1):
    m.a = v
    if v == 1: m.b = 2
def recipe() -> ConfigContainer:
    cfg = made()
    cfg.model.a = cfg.model.b = 1
    cfg.t = O(a=1, o=O(a=2))
    m = q = cfg.model
    a, b, c = 1, 2, 3
    o = O(a=1, b=1)
"""
VALUES = [
    "1", "2", "N", "N", "E * E", "f(E)", "(N := E)", "(E if f(1) else E)", "own(E)", "E + E",
    "[N for N in (1, 2)][0]", "-E", "some(n=E)", "(lambda N=1: E)()",
]  # fmt: skip
SIMPLE = [
    "T = E", "T = E", "T = T = E", "T, T = E, E", "T, T = pair()", "T += E", "T *= E",
    "setattr(X, 'a', E)", "setattr(X, key(), E)", "vars(X).update(a=E)", "vars(X)['b'] = E",
    "tune(X, E)", "x = [tune(X, E)]", "m = X", "q = X", "o = O(a=E, b=E)", "cfg.t = O(a=E, o=o)",
    "cfg.t.o = X", "cfg.t.o = copy.deepcopy(o)", "cfg, x = cfg, 3", "exec('cfg.model.a = 7')",
    "if f(1): tune(X, E)", "def g(): cfg.model.a = 3", "def g(z=cfg): z.model.a = 3", "g()",
    "for x in (X, X): setattr(x, key(), 3)", "m: int = X", "del x", "import copy as N",
]  # fmt: skip
AROUND = [
    "if f(1):", "if N == 2:", "if not N != 1:", "for T in (1, f(2)):", "for m in (cfg.model, o):",
    "with ctx() as T:", "while f(1) > 1:", "try:", "match f(1):",
]  # fmt: skip


class Context:
    def __enter__(self) -> int:
        return 4

    def __exit__(self, *_: object) -> None:
        return None


def filled(text: str, random: Random, deep: int = 0) -> str:
    """A line with values, names, objects and targets in the place of capitals."""
    drawn = {"N": NAMES, "X": OBJECTS, "T": NAMES + FIELDS, "E": VALUES[: 4 if deep > 1 else None]}
    parts = []
    for letter in text:
        word = random.choice(drawn[letter]) if letter in drawn else letter
        parts.append(filled(word, random, deep + 1) if letter == "E" else word)
    return "".join(parts)


def lines(random: Random, deep: int = 1) -> str:
    found = ""
    for _ in range(random.randrange(1, 7 if deep == 1 else 3)):
        space = "    " * deep
        if deep > 2 or random.random() < 0.7:
            found += f"{space}{filled(random.choice(SIMPLE), random)}\n"
            continue
        around = random.choice(AROUND)
        if around.startswith("match"):
            found += f"{space}{around}\n{space}    case 1 as {random.choice(NAMES)}:\n"
            found += lines(random, deep + 2)
        else:
            found += f"{space}{filled(around, random)}\n{lines(random, deep + 1)}"
        found += f"{space}    break\n" if around.startswith("while") else ""
        found += f"{space}except AttributeError: pass\n" if around == "try:" else ""
    return found


def run(text: str, random: Random) -> Any:
    """What a recipe makes when it is run; None: it cannot be."""
    made = SimpleNamespace(
        model=SimpleNamespace(a=1, b=1), t=SimpleNamespace(a=1, o=SimpleNamespace(a=2))
    )
    names = {
        "O": SimpleNamespace, "ConfigContainer": SimpleNamespace, "made": lambda: made,
        "f": lambda _: random.randrange(4), "pair": lambda: (random.randrange(5), 0),
        "key": lambda: random.choice("ab"), "ctx": Context, "copy": copy,
    }  # fmt: skip
    try:
        exec(text, names)  # what this file draws
        return names["recipe"]()  # type: ignore[operator]
    except (AttributeError, TypeError, NameError, OverflowError, IndexError, SyntaxError):
        return None


def test_what_is_read_is_what_a_run_sets() -> None:
    count = 0
    for seed in range(150):
        text = f"{HEAD}{lines(Random(seed))}    return cfg\n"
        found = python_recipe(text, "r.py", "", "ConfigContainer").values
        for again in range(3):
            made = run(text, Random(again))
            for path in READ if made is not None else ():
                value = made
                for name in path.split("."):
                    value = getattr(value, name, None)
                if path in found:
                    assert value == found[path], f"{seed}: {path}\n{text}"
                    count += 1
    assert count > 150
