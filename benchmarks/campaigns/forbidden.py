"""What code of the packages may not call or import, beside the rules `S` of ruff.

Names are followed through imports (`import os as o`, `from os import system`), and one that is
handed on (`map(eval, texts)`) counts as one that is called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from campaigns.readers import ROOT

PACKAGES = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")
BUILTINS = ("eval", "exec", "compile", "__import__")
NEVER = re.compile(
    r"(builtins\.)?(eval|exec|compile|__import__)"
    r"|os\.(system|popen|startfile|fork|forkpty|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?)"
    r"|subprocess\.get(status)?output|tempfile\.mktemp|shutil\.unpack_archive|torch\.load"
    r"|asyncio\.(create_subprocess_\w+|open_(unix_)?connection|start_(unix_)?server)"
    r"|multiprocessing\.connection(\.\w+)?"
)
"""Names that are used nowhere."""
METHODS = {"extractall", "enable_load_extension", "load_extension", "exec_module", "read_pickle",
           "unsafe_load"}  # fmt: skip
"""Attributes that are used nowhere, whatever has them."""
HARMLESS = ("exec('')",)
"""Calls of those that run nothing: `planner.cli.interruption.forget` says why there is one."""
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "ctypes",
          "ftplib", "requests", "httpx", "aiohttp", "telnetlib", "xmlrpc", "runpy", "pty",
          "socketserver", "smtplib", "poplib", "imaplib", "webbrowser", "code", "imp",
          "multiprocessing.connection"}  # fmt: skip
"""Modules that are imported nowhere."""
ONLY_IN: Mapping[str, set[str]] = {
    "subprocess": {"planner/answers/installation.py", "planner/machine/detection/tools.py",
                   "planner/evidence/calibration/measurement/power.py"},
    "socket": {"planner/studies/sweep/places.py", "planner/answers/sweeping.py"},
    "http": {"planner/web/serving.py"},
    "urllib": set(),
    "xml": {"planner/collectives/msccl/program.py", "planner/machine/detection/readers/nccl.py",
            "planner/network/topology/custom.py"},
}  # fmt: skip
"""What is imported by these files alone: none starts a shell, or takes a document type in XML."""
_SHELLS = re.compile(r"(.*/)?(ba|da|z|k)?sh|cmd(\.exe)?|powershell")
_WORDS = re.compile(
    r"\b(?:eval|exec|compile|builtins|__import__|system|popen|startfile|fork\w*|exec[lv]\w*|spawn\w*"
    r"|posix_spawn\w*|get(?:status)?output|mktemp|unpack_archive|torch|asyncio|connection|shell"
    r"|allow_pickle|unsafe|import_module"
    rf"|{'|'.join((*METHODS, *map(re.escape, UNSAFE), *ONLY_IN))})\b"
)
"""Few files have any of them, and to parse all takes seconds."""


def forbidden(path: Path, tree: ast.Module) -> Iterator[str]:
    """What a module uses or imports that it may not, with its line."""
    place = path.relative_to(ROOT).as_posix()
    names = _names(tree)
    harmless = {
        id(node.func) for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node) in HARMLESS
    }  # fmt: skip
    for node in ast.walk(tree):
        for module in _imported(node):
            top = module.partition(".")[0]
            if {top, module} & UNSAFE or (top in ONLY_IN and place not in ONLY_IN[top]):
                yield f"{place}: imports {module}"
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in harmless:
            name = _full(node, names)
            method = isinstance(node, ast.Attribute) and node.attr in METHODS
            if NEVER.fullmatch(name) or method:
                yield f"{place}:{node.lineno}: {name}"
        line = getattr(node, "lineno", 0)
        yield from (f"{place}:{line}: {what}" for what in _called(node))


def _names(tree: ast.Module) -> dict[str, str]:
    """What names of a module stand for that are imported."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _full(node: ast.AST, names: Mapping[str, str]) -> str:
    text = ast.unparse(node)
    first, dot, rest = text.partition(".")
    return names.get(first, first) + dot + rest


def _called(node: ast.AST) -> Iterator[str]:
    """What is wrong with the arguments of a call."""
    if not isinstance(node, ast.Call):
        return
    for given_list in node.args:
        if isinstance(given_list, ast.List | ast.Tuple):
            words = [getattr(one, "value", None) for one in given_list.elts]
            if "-c" in words and isinstance(words[0], str) and _SHELLS.fullmatch(words[0]):
                yield "a shell is started"
    given = {one.arg: one.value for one in node.keywords}
    shells = re.search(r"(run|call|Popen|check_\w+|shell|exec)$", ast.unparse(node.func))
    if "shell" in given and shells:
        yield "shell="
    if "allow_pickle" in given and ast.unparse(given["allow_pickle"]) != "False":
        yield "allow_pickle="
    if "typ" in given and "unsafe" in ast.unparse(given["typ"]):
        yield "typ='unsafe'"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [str(one.value) for one in node.args[:1] if isinstance(one, ast.Constant)]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def lint() -> tuple[int, list[str]]:
    """How many modules there are, and what they may not."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    found: list[str] = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        if _WORDS.search(text):
            found += forbidden(path, ast.parse(text))
    return len(paths), found
