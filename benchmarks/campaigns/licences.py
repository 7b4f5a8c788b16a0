"""Licences of what is installed, for planner and for each of its extras, as the packages say.

A package says it in one of four places: the expression of its metadata, the older field, its
classifiers, or the head of its licence file. What none says is unknown, and a fault.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

from campaigns.readers import ROOT

USERS = ("", "viz", "dataframe", "chakra", "sweep", "jobqueue")
"""Extras of users, the empty one being planner itself; all others are for those who work on it."""
DEVELOPERS = ("test", "browser", "dev", "docs", "mutation")
_KINDS = (
    ("copyleft", r"\bA?GPL|GNU (Affero )?General"),
    ("by file", r"\bLGPL|Lesser General|\bMPL|Mozilla"),
    ("permissive", r"\bMIT|\bBSD|Apache|\bPSF|Python Software|\bISC|\b0BSD|Unlicense|\bZlib|"
     r"CC0|Public Domain|Permission is hereby granted|Redistribution and use"),
)  # fmt: skip
_LONGEST = 60  # characters of a licence that are shown; a longer field is its text
_READ = 400  # characters of a text in which its kind is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A package.

    Attributes:
        package, version: It.
        licence: As it says.
        kind: permissive, by file (changes of its own files stay under it), copyleft, or unknown.
        needed_by: planner, or the first of its extras that needs it.
    """

    package: str
    version: str
    licence: str
    kind: str
    needed_by: str


def said(package: Distribution) -> str:
    """The licence of a package in its own words; empty: it says none."""
    metadata = package.metadata
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    field = metadata["License"].strip() if "License" in metadata else ""
    classes = [one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or ()
               if one.startswith("License ::")]  # fmt: skip
    if field and len(field) <= _LONGEST and field != "UNKNOWN":
        return field
    if classes:
        return " / ".join(classes)
    names = [*(metadata.get_all("License-File") or ()), "LICENSE", "LICENSE.txt", "COPYING"]
    for name in names:
        for place in (f"licenses/{name}", name):
            if text := package.read_text(place):
                return " ".join(text.split())[:_READ]
    return " ".join(field.split())[:_READ]


def kind_of(licence: str) -> str:
    """The kind of a licence; of several that one may choose from, the most permissive."""
    kinds = []
    for choice in re.split(r"\bOR\b| / ", licence):
        found = [kind for kind, pattern in _KINDS if re.search(pattern, choice, re.IGNORECASE)]
        kinds.append(found[0] if found else "unknown")
    order = ["permissive", "by file", "copyleft", "unknown"]
    return min(kinds, key=order.index)


def needed(extra: str) -> Iterator[Distribution]:
    """What is installed of all that planner with an extra needs, each once."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    seen: set[tuple[str, str]] = set()
    waiting = [
        Requirement(text) for text in (optional[extra] if extra else project["dependencies"])
    ]
    while waiting:
        asked = waiting.pop()
        for wanted in {"", *asked.extras} - {wanted for name, wanted in seen if name == asked.name}:
            seen.add((asked.name, wanted))
            if asked.name == project["name"]:
                waiting += map(Requirement, optional.get(wanted, ()))
                continue
            try:
                package = distribution(asked.name)
            except PackageNotFoundError:
                continue
            yield package
            waiting += [
                one for one in map(Requirement, package.requires or ())
                if one.marker is None or one.marker.evaluate({"extra": wanted})
            ]  # fmt: skip


def campaign(told: Callable[[str], None]) -> Iterator[Row]:
    """Every package that is installed for planner or an extra; what must not be is told."""
    seen: set[str] = set()
    for extra in (*USERS, *DEVELOPERS):
        found = {package.metadata["Name"]: package for package in needed(extra)}
        for name in sorted({*found} - seen, key=str.lower):
            seen.add(name)
            licence = said(found[name])
            kind = kind_of(licence)
            if kind == "unknown" or (kind == "copyleft" and extra in USERS):
                told(f"{name}, for {extra or 'planner'}: {kind}: {licence!r}")
            yield Row(package=name, version=found[name].version, licence=licence[:_LONGEST],
                      kind=kind, needed_by=extra or "planner")  # fmt: skip
