"""Notebooks: run in this process, compared with what they keep, shown as pages.

A cell's output is what it prints and the text of its last expression, as Jupyter keeps it. Running
takes no Jupyter; `tests/docs/test_docs_notebooks.py` does it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

from pages.sources import ROOT

FOLDER = ROOT / "docs" / "notebooks"
Notebook = dict[str, Any]


def names() -> list[Path]:
    """The notebooks, in the order in which they are read."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    """A notebook's JSON."""
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def write(into: Path) -> list[str]:
    """Writes a page for each notebook, and copies it to be downloaded.

    Returns:
        The pages, as paths on the site.
    """
    folder = into / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in names():
        shutil.copy(path, folder / path.name)
        text = page(read(path), path.name)
        (folder / f"{path.stem}.md").write_text(text, encoding="utf-8")
    return [f"notebooks/{path.stem}.md" for path in names()]


def page(notebook: Notebook, name: str) -> str:
    """A notebook as Markdown; what its first cell says is followed by a link to the file."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts += [f"```text\n{text_of(one).rstrip()}\n```" for one in cell["outputs"]]
    parts.insert(1, f"[The notebook]({name}), to be run in Jupyter.")
    return "\n\n".join(parts) + "\n"


def text_of(output: dict[str, Any]) -> str:
    """The text of one output of a cell."""
    return "".join(output["text"] if "text" in output else output["data"]["text/plain"])


def run(notebook: Notebook) -> Notebook:
    """The notebook with the outputs that its cells have when they run in order."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = _outputs("".join(cell["source"]), names, count)
            cells.append({**cell, "outputs": outputs, "execution_count": count})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, then the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "<cell>", "exec"), names)  # noqa: S102  (a notebook of ours)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)  # noqa: S307
    found: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        found.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        found.append({"data": data, "execution_count": count, "metadata": {},
                      "output_type": "execute_result"})  # fmt: skip
    return found


def as_text(notebook: Notebook) -> str:
    """A notebook as its file has it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
