"""Random recipes in Python over many forms, and what Python makes of them."""

import asyncio
import copy
import functools
import operator
from random import Random
from types import SimpleNamespace
from typing import Any

from planner.frameworks.reading.python.recipe import PythonRecipe, python_recipe

NAMES = ["a", "b", "c"]
OBJECTS = ["cfg.model", "cfg.model", "cfg.t", "m", "o", "q", "cfg.t.o", "cfg"]
BOXES = ["box", "row", "pair_", "ns"]
READ = ["model.a", "model.b", "t.a", "t.o.a", "t.o.b", "out"]
FIELDS = [f"{one}.{name}" for one in OBJECTS[:6] for name in "ab"] + ["cfg.t.o.a"]
HEAD = """\
A = 2
COUNT = 0
LIST = [1]
SHARED = None
def put(c, v=8): c.a = v
def part(c, n="o"): return c.t
def same(c):
    d = c
    return d
def either(c, d):
    if f(1): return d
    return c
def early(c, v=8):
    if f(1): return c
    c.a = v
    return c
def stop(c):
    if f(1): raise ValueError
    c.b = 7
def gen(c):
    c.a = 8
    yield c
async def later(c): c.a = 8
def twice(g, c):
    g(c)
    g(c)
def many(*cs, **kw):
    for c in cs: c.a = 6
def grow(v=[]):
    v.append(1)
    return v
def count():
    global COUNT
    COUNT = COUNT + 1
    return COUNT
def keep(c):
    global SHARED
    SHARED = c
def use(): SHARED.a = 5
def deep(c, n=3):
    if n == 0: return c
    deep(c, 0)
    c.a = n
def wraps(g):
    def inner(*args):
        found = g(*args)
        args[0].b = 9
        return found
    return inner
@wraps
def wrapped(c): c.a = 4
def maker(c):
    def inner(v): c.a = v
    return inner
def own(n): return n
def some(n=A, k=3):
    if n == 2: return k
    n = n * 2
    return n
class Put:
    level = 3
    def __init__(self, c): c.a = 8; self.c = c
    def put(self, v=7): self.c.a = v
    def __enter__(self): return self.c
    def __exit__(self, *_): self.c.b = 7
    def __iter__(self): self.c.b = 8; return iter([self.c])
    def __getitem__(self, key): self.c.a = 3; return self.c
    def __call__(self, c): c.b = self.c.a
    def __add__(self, n): self.c.a = n; return n
    @staticmethod
    def still(c): c.b = 6
    @classmethod
    def kind(cls, c): c.b = cls.level
    @property
    def seen(self): return self.c
class Hold:
    x: int = 3
def grown(c, v=LIST):
    v.append(1)
    return v
OTHER = O(m=O(a=1, b=2))
def tuned(): OTHER.m.a = 6
ALIAS = put
TABLE = {"put": put}
ROW = [put, stop]
if A == 2:
    def known(c): c.a = 5
try:
    from nowhere import missing
except ImportError:
    def missing(c): c.a = 5
quick = lambda c, v=8: setattr(c, "a", v)
"""
BEGIN = """\
def recipe() -> ConfigContainer:
    cfg = made()
    cfg.model.a = cfg.model.b = 1
    cfg.t = O(a=1, o=O(a=2, b=4))
    m = q = cfg.model
    a, b, c = 1, 2, 3
    o = O(a=1, b=1)
    box, row, pair_, ns = [o], {"k": o}, (o, cfg.t), O(k=o)
    fun, it, lst, other = put, iter([]), [1], OTHER.m
"""
VALUES = [
    "1", "2", "N", "N", "V", "V", "E * E", "f(E)", "(N := E)", "(E if f(1) else E)", "own(E)", "-E",
    "[N for N in (1, 2)][0]", "some(n=E)", "(lambda N=1: E)()", "some()", "count()", "len(lst)",
    "lst[-1]", "E + E", "COUNT", "A", "len(grow())", "some(E, k=E)", "(E == E)", "(not E)",
    "(E is None)", "(E if E == 1 else E)", "int(E)", "max(E, E)", "[E, E][0]", "dict(k=E)['k']",
    "getattr(X, 'a')", "vars(X)['a']", "Hold(x=E).x", "(E and E)", "LIST[0]", "(E != E)",
]  # fmt: skip
OBJECT = [
    "X", "X", "X", "X", "X", "part(cfg)", "same(X)", "either(X, X)", "early(X)", "box[0]",
    "row['k']", "pair_[1]", "ns.k", "(X if f(1) else X)", "(q := X)", "[X][0]", "dict(k=X)['k']",
    "getattr(cfg, 'model')", "copy.copy(X)", "copy.deepcopy(X)", "O(a=E, b=E)", "hand(X)",
    "next(iter([X]))", "max([X], key=id)", "vars(cfg)['model']", "cfg.__dict__['t']", "cfg.t",
    "Put(X).c", "(lambda z=X: z)()", "Put(X).seen", "(X or X)", "O(k=X).k", "replace(X, a=E)",
    "SHARED", "fun", "it",
]  # fmt: skip
SIMPLE = [
    "T = E", "T = E", "T = E", "T = T = E", "T, T = E, E", "T, T = pair()", "T += E", "T *= E",
    "Y.a = E", "Y.b = E", "Y.a = E", "m = Y", "q = Y", "o = Y", "m = Y", "cfg.t.o = Y", "cfg.t = Y",
    "cfg.model = Y", "cfg.t = O(a=E, o=Y)", "m, q = Y, Y", "m = q = Y", "(Y).b += E",
    "setattr(Y, 'a', E)", "setattr(X, key(), E)", "put(Y, E)", "put(c=X, v=E)", "x = [put(X, E)]",
    "box = [Y]", "box.append(Y)", "row = {'k': Y}", "row = dict(k=Y)", "row['k'] = Y", "ns.k = Y",
    "pair_ = (Y, Y)", "box[0] = Y", "box += [Y]", "row.update(k=Y)", "row |= {'k': Y}",
    "box, pair_ = box, (X, X)", "ns = O(k=Y)", "row.setdefault('k', X)", "m, *x = [X, X]",
    "fun = FUN", "fun(X)", "fun(Y)", "FUN(Y)", "FUN(X)", "FUN(X)", "twice(FUN, X)", "it = gen(X)",
    "list(it)", "next(it, 0)", "for x in it: pass", "x, *z = [*it]", "it = map(FUN, [X])",
    "it = Put(X)", "it.put(E)", "it + 1", "it[0]", "it(X)", "it = maker(X)", "it(E)", "x = it.seen",
    "it = functools.partial(FUN, X)", "it()", "it = functools.partial(setattr, X, 'a')",
    "it = lambda: put(X, E)", "it = lambda v=1: put(X, v)", "it = (put(x) for x in [X])",
    "it = X.__setattr__", "it('a', E)", "keep(X)", "use()", "early(X, E)", "many(X, X)",
    "many(*[X, X])", "many(k=X)", "deep(X)", "deep(X, E)", "wrapped(X)", "stop(X)", "later(X)",
    "asyncio.run(later(X))", "vars(X).update(a=E)", "vars(X)['b'] = E", "X.__dict__['a'] = E",
    "X.__dict__.update(b=E)", "X.__dict__ |= dict(a=E)", "it = X.__dict__", "it['a'] = E",
    "it.update(b=E)", "type(X).__setattr__(X, 'a', E)", "object.__setattr__(X, 'b', E)",
    "operator.setitem(vars(X), 'a', E)", "builtins_setattr(X, 'a', E)", "del X.a", "X.a: int = E",
    "[put(x) for x in (X, X)]", "[setattr(x, 'a', E) for x in [X]]", "{put(x) for x in [X]}",
    "exec('cfg.model.a = 7')", "eval('put(cfg.model, 6)')", "f(X.a)", "print_(X)", "hand(X)",
    "x = hand(X); x.a = E", "hand([X])", "hand(k=X)", "hand(*[X])", "hand(lambda: put(X))",
    "lst.append(E)", "lst = [E]", "x = lst", "x = lst; x += [E]", "lst[0] = E", "LIST.append(E)",
    "cfg.t.a = lst[0]", "grow(lst)", "Hold.x = E", "Put.level = E", "globals()['A'] = E",
    "def g(): cfg.model.a = 3", "def g(z=cfg): z.model.a = 3", "def g(z=1): m.b = z", "g()", "g()",
    "def g():\n        nonlocal m\n        m = X", "def g():\n        nonlocal a\n        a = 5",
    "def put(c, v=1): c.b = v", "class K: X.a = 3", "class K:\n        z = X\n        z.a = 3",
    "for x in (X, X): setattr(x, key(), 3)", "for x in box: x.a = E", "m: O = X", "cfg, x = cfg, 3",
    "for x in row.values(): x.b = E", "x = (put(X), E)", "put(X, v=count())", "del x", "a = X.a",
    "assert put(X) is None", "x = f'{put(X)}'", "import copy as x", "x = X; x.a = E", "b = X.b",
    "g = put; g(X)", "x = X.a; x += 1", "old = cfg.model; cfg.model = O(a=E, b=E); old.a = E",
    "def h():\n        m = X\n        g()", "h()", "h()", "def h(m=X): g()", "fun = g",
    "fun = lst.append", "lst = []", "x = lst; x.append(E)", "cfg.l = lst", "cfg.l.append(E)",
    "row = {'l': lst}", "fun(E)", "row['l'].append(E)", "lst = cfg.l", "put(X, lst)", "lst = X.a",
    "x = X.a; x.append(2)", "lst = LIST", "grown(X)", "grown(X).append(E)", "x = grown(lst)",
    "other.a = E", "cfg.t.o = other", "m = OTHER.m", "OTHER.m = X", "OTHER.m.a = E", "tuned()",
    "x = Hold(x=X); x.x.a = E", "Hold.x = X; Hold.x.b = E", "X.c = Y", "Y.c = X", "X.c.a = E",
    "X.c.c.a = E", "put(X.c, E)", "FUN(X.c)", "m = X.c", "cfg.t = X.c", "quick(X.c)", "it = X.c",
    "x = (lambda z: put(z))(X.c)", "lst.sort()", "x = not put(X)",
    "x = lst.append(E) or 2", "cfg.model, x = cfg.t, 1",
]  # fmt: skip
FUNCTIONS = [
    "put", "ALIAS", "TABLE['put']", "ROW[0]", "quick", "known", "missing", "Put", "Put.still",
    "Put.kind", "wrapped", "(put or 0)", "stop", "fun", "same", "early", "(lambda z: put(z))",
    "functools.partial(put)", "many", "deep", "keep", "gen", "f", "print_", "Put(o)", "maker",
]  # fmt: skip
AROUND = [
    "if f(1):", "if N == 2:", "if not N != 1:", "for T in (1, f(2)):", "for m in (X, o):",
    "with ctx() as T:", "while f(1) > 1:", "try:", "match f(1):", "if V == 1:", "for x in [X]:",
    "if not lst:", "if lst:", "if not LIST:", "if cfg.model.a == 1:", "if X.a == E:", "if N:",
    "if E:", "with Put(X) as x:", "if put(X) is None:", "for x in gen(X):", "if f(X.a):",
    "with hold(X) as q:",
]  # fmt: skip
ENDS = [
    "return cfg", "return", "return X", "raise ValueError", "return O(model=m, t=o)", "return cfg",
]  # fmt: skip


class Context:
    def __init__(self, held: object = 4) -> None:
        self.held = held

    def __enter__(self) -> object:
        return self.held

    def __exit__(self, *_: object) -> None:
        return None


def filled(text: str, random: Random, deep: int = 0) -> str:
    """A line with values, names, objects and targets in the place of capitals."""
    for word, drawn in (("FUN", FUNCTIONS), ("X", OBJECTS), ("N", NAMES), ("V", FIELDS)):
        text = _filled(text, word, drawn, random)
    text = _filled(text, "T", NAMES + FIELDS, random)
    parts = []
    for letter in _words(text):
        if letter in "EY" and letter:
            some = VALUES[:5] if deep > 1 else VALUES
            some = (OBJECT[:5] if deep > 1 else OBJECT) if letter == "Y" else some
            parts.append(filled(random.choice(some), random, deep + 1))
        else:
            parts.append(letter)
    return "".join(parts)


def _words(text: str) -> list[str]:
    """A text cut so that capitals which stand alone are words of their own."""
    found, word = list[str](), ""
    for letter in text:
        if letter.isalnum() or letter == "_":
            word += letter
        else:
            found += [word, letter]
            word = ""
    return [*found, word]


def _filled(text: str, word: str, drawn: list[str], random: Random) -> str:
    return "".join(random.choice(drawn) if one == word else one for one in _words(text))


def lines(random: Random, deep: int = 1) -> list[str]:
    """Statements of a function, one block each."""
    found = list[str]()
    space = "    " * deep
    for _ in range(random.randrange(1, 8 if deep == 1 else 3)):
        if deep > 2 or random.random() < 0.8:
            line = filled(random.choice(SIMPLE), random)
            found.append(
                "".join(f"{space}{one}\n" for one in line.split("\n        ")[:1])
                + "".join(f"{space}    {one}\n" for one in line.split("\n        ")[1:])
            )
            continue
        around = filled(random.choice(AROUND), random)
        block, inner = f"{space}{around}\n", deep + 1
        if around.startswith("match"):
            block += f"{space}    case 1 as {random.choice(NAMES)}:\n"
            inner += 1
        block += "".join(lines(random, inner))
        if random.random() < 0.25:
            block += f"{'    ' * inner}{filled(random.choice(ENDS), random)}\n"
        block += f"{space}    break\n" if around.startswith("while") else ""
        block += f"{space}except (AttributeError, TypeError): pass\n" if around == "try:" else ""
        found.append(block)
    return found


def drawn(seed: int) -> list[str]:
    """The blocks of a recipe."""
    random = Random(seed)
    blocks = lines(random)
    if random.random() < 0.4:
        blocks.append(f"    cfg.out = {filled('E', random)}\n")
    return blocks


def text_of(blocks: list[str]) -> str:
    return f"{HEAD}{BEGIN}{''.join(blocks)}    return cfg\n"


def run(text: str, random: Random) -> tuple[Any, Any]:
    """What a recipe makes when it is run, and what was made for it; None: it cannot be."""
    made = SimpleNamespace(
        model=SimpleNamespace(a=11, b=12), t=SimpleNamespace(a=13, o=SimpleNamespace(a=14)), out=15
    )

    def hand(*things: Any, **more: Any) -> Any:
        """Of another file: changes what it is given, or gives it back."""
        given = [*things, *more.values()]
        for one in given:
            for two in one if isinstance(one, list) else [one]:
                if callable(two):
                    two()
                elif random.random() < 0.5:
                    two.a = 21
        return given[0]

    names = {
        "O": SimpleNamespace, "ConfigContainer": SimpleNamespace, "made": lambda: made,
        "f": lambda _: random.randrange(4), "pair": lambda: (random.randrange(5), 0),
        "key": lambda: random.choice("ab"), "ctx": Context, "copy": copy, "functools": functools,
        "operator": operator, "asyncio": asyncio, "hand": hand, "print_": lambda _: None,
        "builtins_setattr": setattr, "hold": Context,
        "replace": lambda one, **more: SimpleNamespace(**{**vars(one), **more}),
    }  # fmt: skip
    try:
        exec(text, names)  # what this file draws
        return names["recipe"](), made  # type: ignore[operator]
    except (AttributeError, TypeError, NameError, OverflowError, LookupError, SyntaxError,
            ValueError, RuntimeError, StopIteration, RecursionError):  # fmt: skip
        return None, made


def wrong(blocks: list[str]) -> tuple[str, int]:
    """A field that is read as what Python does not make it, and how many hold; empty: none is."""
    text, count = text_of(blocks), 0
    found = python_recipe(text, "r.py", "recipe", "ConfigContainer")
    for again in range(3):
        made, base = run(text, Random(again))
        for path in READ if made is not None else ():
            value = _at(made, path)
            if path in found.values:
                if value != found.values[path] or type(value) is not type(found.values[path]):
                    return f"{path} is {value}, read as {found.values[path]}", count
                count += 1
            elif made is base and _is_default(found, path):
                if value not in (11, 12, 13, 14, 15, None):
                    return f"{path} is {value}, read as what it was", count
                count += 1
    return "", count


def _is_default(found: PythonRecipe, path: str) -> bool:
    """Whether a field is taken to be what it was before."""
    parts = path.split(".")
    made = any(".".join(parts[:at]) in found.built for at in range(1, len(parts)))
    return not made and not found.unknown(path)


def _at(made: Any, path: str) -> Any:
    for name in path.split("."):
        made = getattr(made, name, None)
    return made
