"""Notebooks of the documentation run, and say what they keep.

    PLANNER_WRITE_NOTEBOOKS=1 python -m pytest tests/docs/test_docs_notebooks.py

writes what they say now.
"""

import copy
import importlib
import os
from typing import Any

import pytest

from docs.reading import ROOT

NAMES = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What runs them, as the site's builder has it."""
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    return importlib.import_module("pages.notebooks")


@pytest.mark.parametrize("path", NAMES, ids=lambda path: path.stem)
def test_a_notebook_says_what_it_keeps(path: Any, notebooks: Any) -> None:
    kept = notebooks.read(path)
    now = notebooks.run(kept)
    if os.environ.get("PLANNER_WRITE_NOTEBOOKS"):
        path.write_text(notebooks.as_text(now), encoding="utf-8")
    assert notebooks.as_text(now) == path.read_text(encoding="utf-8")
    first = kept["cells"][0]
    assert "".join(first["source"]).partition("\n")[0].endswith("?"), "the question it answers"


def test_what_a_cell_says(notebooks: Any) -> None:
    cells = [
        {"cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x + 1"], "outputs": []},
        {"cell_type": "markdown", "source": ["# A?"]},
        {"cell_type": "code", "source": ["x = 5"], "outputs": []},
    ]
    whole = {"cells": cells}
    before = copy.deepcopy(whole)
    ran = notebooks.run(whole)
    assert whole == before
    outputs = ran["cells"][0]["outputs"]
    assert [notebooks.text_of(one) for one in outputs] == ["2\n", "3"]
    assert ran["cells"][2]["outputs"] == []
    with pytest.raises(ZeroDivisionError):
        notebooks.run({"cells": [{"cell_type": "code", "source": ["1 / 0"], "outputs": []}]})
