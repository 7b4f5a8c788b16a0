"""What packages add by name: refused where it is not what its name says."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from support.cases import each

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """What the registry holds."""

    name: str


OWN, ACME = Thing(name="own"), Thing(name="acme")
TEXT = "acme"


def registry(monkeypatch: pytest.MonkeyPatch, *names: str) -> Registry[Thing]:
    """One to which a package adds something under some names."""
    points = [EntryPoint(name=name, value=f"{__name__}:{what}", group="planner.things")
              for name, _, what in (one.partition("=") for one in names)]  # fmt: skip
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
    return Registry[Thing]("planner.things", Thing, [OWN])


def test_those_of_packages_follow_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry(monkeypatch, "acme=ACME")
    assert (list(found), found["acme"], len(found)) == (["own", "acme"], ACME, 2)


@each(("added", "said"), [
    ("own=OWN", "the planner has one of this name; give it another"),
    ("other=ACME", "calls itself 'acme'; the names must agree"),
    ("acme=TEXT", "is not a Thing"),
    ("acme=absent", "cannot be loaded"),
])  # fmt: skip
def test_what_is_not_what_its_name_says_is_refused(added: str, said: str, monkeypatch: Any) -> None:
    found = registry(monkeypatch, added)
    assert found["own"] is OWN, "who asks for our own is not held up"
    with pytest.raises(InputError, match=said):
        len(found)
