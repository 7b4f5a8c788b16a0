"""Reads the named recipes of Megatron-Bridge or NeMo, and keeps what a plan follows from.

    python benchmarks/named_recipes.py bridge --checkout FOLDER --write
    python benchmarks/named_recipes.py nemo --checkout FOLDER --write

FOLDER is a checkout of the commit of planner/frameworks/megatron/dialects/named_recipes.py. Kept
are recipes that are read as they stand, with the older names that stand for them. Nothing is run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from planner.base.errors import InputError
from planner.frameworks.megatron.dialects import nemo2
from planner.frameworks.megatron.dialects.bridge import as_kept
from planner.frameworks.megatron.dialects.named_recipes import BRIDGE, NEMO
from planner.frameworks.reading.python.recipe import python_recipe
from planner.question.launch import read_launch

_FUNCTION = re.compile(r"(?m)^def ([a-z]\w*_config)\(")
_ALIAS = re.compile(r"\b(\w+_config) as (\w+_config)\b")
_OTHERS = re.compile(r"peft|lora")
_BASE = re.compile(r"(?!get_mixed_precision_)\w+_config")


def of_bridge(folder: Path) -> dict[str, Any]:
    """Recipe to what is kept of it, and older name to recipe."""
    found: dict[str, Any] = {}
    names: dict[str, str] = {}
    for path in sorted((folder / "src/megatron/bridge/recipes").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        names |= {new: old for old, new in _ALIAS.findall(text)}
        for name in _FUNCTION.findall(text):
            recipe = python_recipe(text, name, name, "ConfigContainer")
            if _OTHERS.search(name) or any(map(_BASE.fullmatch, recipe.bases)):
                continue
            try:
                read = read_launch("auto", Path(f"{path}::{name}"))
            except InputError:
                continue
            left = {one.name for one in (*read.imported.ignored, *read.imported.unknown)}
            found[name] = as_kept(recipe, left)
    older = {name: {"is": old} for name, old in sorted(names.items()) if old in found}
    return found | {name: one for name, one in older.items() if name not in found}


def of_nemo(folder: Path) -> dict[str, Any]:
    """Recipe that pre-trains to what is kept of it."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "nemo/collections/llm/recipes").glob("*.py")):
        try:
            read_launch("auto", Path(f"{path}::pretrain_recipe"))
        except InputError:
            continue
        found[path.stem] = nemo2.as_kept(path)
    return found


MAKERS = {"bridge": (BRIDGE, of_bridge), "nemo": (NEMO, of_nemo)}


def main() -> int:
    """Writes the file, or says whether it is what the checkout gives."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("framework", choices=MAKERS)
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    kept, recipes = MAKERS[given.framework]
    rows = [json.dumps({"name": name} | one) for name, one in recipes(given.checkout).items()]
    text = "\n".join([json.dumps({"source": kept.source}), *rows]) + "\n"
    if given.write:
        kept.file.write_text(text, encoding="utf-8")
    same = kept.file.is_file() and kept.file.read_text(encoding="utf-8") == text
    print(f"{len(rows)} names; the file {'is' if same else 'is not'} what the checkout gives")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
