"""The JSON Schemas of files that say what they are like and what differs: nothing else is required.

Numbers keep value, unit, kind and source; levels keep the names by which they are found.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hardware_db.likeness import LIKE

_WHOLE = ("QuantityModel", "SourceModel")
"""What replaces a part of the base whole."""
_FIELD = {
    "type": "string",
    "minLength": 1,
    "description": "Record or file that it is like: all numbers that it does not give are those.",
}


def like_schema(schema: dict[str, Any], *own: str) -> dict[str, Any]:
    """The schema of files that are like one of another schema.

    Args:
        schema: Of whole files.
        own: Names of parts beside the file itself that may be like a record too.
    """
    found = deepcopy(schema)
    parts = found.get("$defs", {})
    for name, part in parts.items():
        if name not in _WHOLE and "required" in part:
            part["required"] = [field for field in part["required"] if field == "name"]
    for part in (found, *(parts[name] for name in own)):
        part["properties"] = {LIKE: _FIELD, **part["properties"]}
        part["required"] = ["name"]
    return {**found, "required": [LIKE, "name"], "title": f"Like{found['title']}"}
