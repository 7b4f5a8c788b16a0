"""Damage to Python files that knows their statements: recipes, configurations, definitions.

Each function takes a `random.Random`, so that a seed says what it does.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from random import Random

from campaigns.damage import text_damage
from planner.base.files import without_advice

_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_WORDS = (
    "x",
    "cfg",
    "self",
    "None",
    "True",
    "return",
    "config",
    "recipe",
    "model",
    "int",
    "\u0435",
)
_BLOCKS = (
    "if True:", "if x:", "for _ in range(3):", "for x in y:", "while x:", "with open(x) as cfg:",
    "def inner():", "class Inner:", "async def inner():", "try:", "match x:\n    case 1:",
)  # fmt: skip
_VALUES = (
    "None", "True", "0", "-1", "1.5", "1e400", "10**30", "1 << 10**9", "10**10**8", "'a' * 10**9",
    "[0] * 10**9", "[]", "{}", "()", "'²'", "'1e9'", "b'8'", "8j", "...", "x", "lambda: 8",
    "f'{x}'", "int('8')", "x if y else z", "(x := 8)", "[*x]", "{**x}", "not 8", "-8", "8 // 0",
    "8 % 0", "'%s' % 8", "'\\ud800'", "1_000", "0x10", "float('nan')", "__import__('os')", "8 or 4",
    "[x for x in y]", "min(8, 4)", "min()", "9" * 5000, "cfg", "cfg.model",
    "cfg.model.x[0]", "2**-1",
)  # fmt: skip
_ROUND = ("{0} * 2", "{0} + {0}", "[{0}] * 3", "[{0}, {0}]", "f'{{{0}}}'", "int({0})", "({0},)",
          "{0} ** {0}", "{0} if x else {0}", "lambda: {0}", "-{0}", "max({0}, {0})",
          "run.Config({0})",
          "{{'x': {0}}}", "{0}.x", "{0}[0]", "{0}()", "({0})")  # fmt: skip
_DOUBLED = (2, 12, 22)
"""Of doublings: one that is carried out takes some seconds, but neither minutes nor gigabytes."""
_MANY = (28, 300, 3000)
_ENDLESS = (
    "def f(): return f()\nx = f()\n", "def f(): return g()\ndef g(): return f()\nx = g()\n",
    "x = y\ny = x\n", "class A(A): pass\n", "class A(B): pass\nclass B(A): pass\n", "x = x\n",
    "def f(x=f()): return x\n", "cfg = f(cfg)\n", "f = f.f\n",
    "from . import x\nfrom .x import x\n",
)  # fmt: skip


def damaged(content: bytes, random: Random) -> bytes:
    """The file after one to three changes of statements, names, values or calls."""
    text = content.decode("utf-8", "replace")
    for _ in range(random.randint(1, 3)):
        try:
            with without_advice():
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return text_damage(text.encode("utf-8", "surrogatepass"), random)
        text = random.choice(_CHANGES)(text, tree, random)
    return text.encode("utf-8", "surrogatepass")


def _statement(text: str, tree: ast.Module, random: Random) -> str:
    """A statement dropped, repeated, moved, or put inside of a block."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    if not found:
        return text
    node, lines = random.choice(found), text.splitlines()
    start, end, indent = node.lineno - 1, node.end_lineno or node.lineno, " " * node.col_offset
    own = lines[start:end]
    action = random.choice(("drop", "double", "many", "move", "nest", "nest", "pass", "first"))
    if action == "drop":
        lines[start:end] = []
    elif action in ("double", "many"):
        lines[end:end] = own * (1 if action == "double" else 300)
    elif action == "move":
        other = random.choice(found)
        place = textwrap.indent(textwrap.dedent("\n".join(own)), " " * other.col_offset)
        lines[other.lineno - 1 : other.lineno - 1] = place.splitlines()
    elif action == "nest":
        block = textwrap.indent(random.choice(_BLOCKS), indent).splitlines()
        deeper = textwrap.indent("\n".join(own), "    " * len(block))
        ended = [f"{indent}finally:", f"{indent}    x"] if block[0].strip() == "try:" else []
        lines[start:end] = [*block, *deeper.splitlines(), *ended]
    elif action == "pass":
        lines[start:end] = [indent + "pass"]
    else:
        lines[0:0] = textwrap.dedent("\n".join(own)).splitlines()
    return "\n".join(lines) + "\n"


def _renamed(text: str, _: ast.Module, random: Random) -> str:
    """A name replaced by another one, where it stands or everywhere."""
    names = [found[0] for found in _NAME.finditer(text)]
    if not names:
        return text
    one, other = random.choice(names), random.choice((*_WORDS, random.choice(names)))
    if random.random() < 0.5:
        return re.sub(rf"\b{one}\b", other, text)
    at = random.choice([found.start() for found in re.finditer(rf"\b{one}\b", text)])
    return text[:at] + other + text[at + len(one) :]


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Where an expression stands; of bytes, which are characters in files of ASCII."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    end = (node.end_lineno or node.lineno) - 1
    return starts[node.lineno - 1] + node.col_offset, starts[end] + (node.end_col_offset or 0)


def _value(text: str, tree: ast.Module, random: Random) -> str:
    """An expression replaced by another one, or inside of one."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    if not found:
        return text
    start, end = _span(text, random.choice(found))
    own = text[start:end]
    new = random.choice(_VALUES) if random.random() < 0.5 else random.choice(_ROUND).format(own)
    return text[:start] + new + text[end:]


def _argument(text: str, tree: ast.Module, random: Random) -> str:
    """An argument of a call dropped, doubled, made a star, or given to another call."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not calls:
        return text
    one, other = random.choice(calls), random.choice(calls)
    parts = [*one.args, *one.keywords]
    if parts and random.random() < 0.4:
        part = random.choice(parts)
        if isinstance(part, ast.keyword):
            one.keywords.remove(part)
            other.keywords.append(part)
        elif isinstance(part, ast.expr):
            one.args.remove(part)
    else:
        value = random.choice((ast.Constant(8), ast.Name("x"), one.func))
        made = random.choice((
            ast.keyword(None, value), ast.keyword("x", value),
            ast.keyword(random.choice(_WORDS[:3]), value),
        ))  # fmt: skip
        one.keywords.append(made)
        one.args += random.choice(([], [ast.Starred(value)], [value]))
    try:
        return ast.unparse(tree) + "\n"
    except (RecursionError, ValueError):
        return text


_CHANGES: tuple[Callable[[str, ast.Module, Random], str], ...] = (
    _statement, _statement, _renamed, _value, _value, _argument,
)  # fmt: skip


def strained(content: bytes, random: Random) -> bytes:
    """The file with names that double one another, or never end, or much that is nested or long."""
    text = content.decode("utf-8", "replace")
    lines = text.splitlines(keepends=True)
    made = random.choice((_doubling, _doubling, _numbered, _nested, _endless))(random)
    at = random.choice((0, len(lines), random.randint(0, len(lines))))
    place = lines[at] if at < len(lines) else ""
    indent = place[: len(place) - len(place.lstrip())] if place.strip() else ""
    lines[at:at] = [textwrap.indent(made, indent) if len(made) < 10_000 else made]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _doubling(random: Random) -> str:
    """Names of which each has the one before it twice; the last one is a value of the file."""
    form = random.choice((
        "v{1} = [v{0}, v{0}]", "v{1} = v{0} + v{0}", "v{1} = dict(a=v{0}, b=v{0})",
        "v{1} = f'{{v{0}}}{{v{0}}}'", "v{1} = (v{0}, *v{0})", "v{1} = Config(x=v{0}, y=v{0})",
        "def v{1}(): return f(v{0}(), v{0}())", "def v{1}(x=v{0}, y=v{0}): return Config(x=x, y=y)",
        "class v{1}(v{0}):\n    a = v{0}\n    b = v{0}", "v{1} = v{0} * v{0}",
        "v{1} = v{0} if v{0} else v{0}", "cfg.a{1} = cfg.a{0}\ncfg.a{1}.b = cfg.a{0}",
    ))  # fmt: skip
    first = random.choice(("8", "'ab'", "[1]", "(1,)", "cfg", "Config()", "x"))
    count = random.choice(_DOUBLED)
    whole = "\n".join(form.format(at, at + 1) for at in range(count))
    last = random.choice((f"cfg.model.x = v{count}", f"x = Config(v{count})", f"cfg = v{count}()"))
    return f"v0 = {first}\ncfg.a0 = v0\n{whole}\n{last}\n"


def _numbered(random: Random) -> str:
    """Many statements that differ in a number."""
    form = random.choice((
        "cfg.model.x{0} = {0}", "x{0} = {0}", "x = {0}", "def f{0}(): return {0}", "import x{0}",
        "class C{0}:\n    x: int = {0}", "cfg.x.y{0}.z = Config(a={0})", "if x{0}:\n    y = {0}",
        "from a import b{0} as c{0}", "cfg = f{0}(cfg)", "x{0} = x", "x += {0}",
        "def f{0}() -> Trainer.Config: return Trainer.Config(x={0})", "f(x)(y)(z)({0})",
    ))  # fmt: skip
    return "\n".join(form.format(at) for at in range(random.choice(_MANY))) + "\n"


def _nested(random: Random) -> str:
    """Something inside of itself, over and over."""
    many = random.choice(_MANY)
    left, right = random.choice((
        ("(", ")"), ("[", "]"), ("f(", ")"), ("{1: ", "}"), ("not ", ""), ("-", ""), ("8 + ", ""),
        ("x.", ""), ("lambda: ", ""), ("8 if x else ", ""), ("8 and ", ""), ("f(x=", ")"),
        ("'a' ", ""),
        ("8 ** ", ""), ("x[", "]"), ("Config(x=", ")"), ("8, ", ""), ("await ", ""),
    ))  # fmt: skip
    if random.random() < 0.3:
        deep = min(many, 110)
        block = random.choice(("if x:", "for x in y:", "def f():", "class A:", "with x:"))
        return "".join("  " * at + block + "\n" for at in range(deep)) + "  " * deep + "x = 8\n"
    return f"cfg.model.x = {left * many}8{right * many}\n"


def _endless(random: Random) -> str:
    return random.choice(_ENDLESS)
