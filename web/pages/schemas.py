"""The page of the YAML files: fields of each, and its JSON Schema to be downloaded."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from pages.markup import code, link, prose, table
from planner.cli.databases import schema


def write(into: Path) -> str:
    """Writes the page and the schemas.

    Returns:
        The page, as a path on the site.
    """
    folder = into / "schemas"
    folder.mkdir()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        schema(None)
    schemas: dict[str, Any] = json.loads(printed.getvalue())
    parts = [
        "# Which fields may a file have?\n",
        "`planner schema NAME` prints the same JSON Schemas; editors check files against them.\n",
    ]
    for name, one in schemas.items():
        text = json.dumps(one, indent=1) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        said = " ".join((one.get("description") or "").partition("\n\n")[0].split())
        address = link(f"{name}.json", f"../schemas/{name}.json")
        parts.append(f"\n## {name}\n\n<p>{prose(said)} {address}</p>\n\n{_fields(one)}")
    (into / "reference" / "schemas.md").write_text("\n".join(parts), encoding="utf-8")
    return "reference/schemas.md"


def _fields(one: dict[str, Any]) -> str:
    """The fields of the outermost mapping."""
    needed = one.get("required", ())
    rows = [
        (code(name), "yes" if name in needed else "", prose(_said(field)))
        for name, field in one.get("properties", {}).items()
    ]
    return table(("field", "needed", "meaning"), rows) if rows else ""


def _said(field: dict[str, Any]) -> str:
    text = field.get("description") or field.get("title") or ""
    return " ".join(text.partition("\n\n")[0].split())
