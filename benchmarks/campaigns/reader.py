"""A kind of file that commands read, and its damage: as a tree, as text, of its kind, strained."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from campaigns.damage import text_damage, tree_damage
from campaigns.json_texts import json_text, large
from campaigns.strain import strained
from strict_yaml.errors import YamlError
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

_AS_TEXT, _OF_KIND = 0.4, 0.6
"""The share of the damage of a tree that is done to its text; of other damage, that of its kind."""
_AS_JSON, _LARGE = 0.3, 0.3
"""The share of files of YAML that are written as JSON, and of strained trees that are large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A kind of file.

    Attributes:
        suffix: Of its name; the name, where it begins with another sign than a dot.
        command: What reads it: FILE, and PLAN, NEW, TOPOLOGY and OUT of the folder; none: a command
            takes the folder in which it lies, and it is read alone.
        content: An undamaged one; empty: `made` gives it.
        made: The command that writes one, and the name of the file that it writes to MADE; "-": to
            standard output.
        seal: Gives it its digest anew, where it carries one.
        damage: Of its kind.
        strain: Of its kind too, where what strains is not text of any kind.
        beside: As `suffix`, and the content of the file that the command is given, beside which it
            lies.
    """

    suffix: str
    command: tuple[str, ...]
    content: bytes = b""
    made: tuple[tuple[str, ...], str] = ((), "")
    seal: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    damage: Callable[[bytes, Random], bytes] | None = None
    strain: Callable[[bytes, Random], bytes] | None = None
    beside: tuple[str, bytes] = ("", b"")

    @property
    def tree(self) -> Any:
        """It as data, not to be changed; None: it is no tree."""
        return _tree(self.suffix, self.content)

    def damaged(self, random: Random) -> bytes:
        """It after some damage."""
        if self.damage is not None and random.random() < _OF_KIND:
            return self.damage(self.content, random)
        tree = self.tree
        if tree is None or random.random() < _AS_TEXT:
            return text_damage(self.content, random)
        tree = tree_damage(tree, random)
        as_json = self.suffix.endswith(".json") or random.random() < _AS_JSON
        try:
            return (
                self._written(tree, random)
                if as_json
                else dump_yaml(tree).encode("utf-8", "surrogatepass")
            )
        except (ValueError, TypeError, YamlError):  # no such file can be written
            return text_damage(self.content, random)

    def strained(self, random: Random) -> bytes:
        """It with much of the same, deep nesting or odd members; as JSON with much in it."""
        if isinstance(self.tree, dict) and random.random() < _LARGE:
            return self._written(large(self.tree, random), random)
        if self.strain is not None and random.random() < _OF_KIND:
            return self.strain(self.content, random)
        return strained(self.content, random)

    def _written(self, tree: Any, random: Random) -> bytes:
        """It as JSON, which files of YAML may be too."""
        if self.seal is not None and isinstance(tree, dict):
            tree = self.seal(tree)
        return json_text(tree, random)


@functools.cache
def _tree(suffix: str, content: bytes) -> Any:
    """A file as data; read once, as that takes longer than most damage."""
    try:
        if suffix.endswith(".json"):
            return json.loads(content)
        return load_yaml(content) if suffix in (".yaml", ".yml") else None
    except (YamlError, ValueError):
        return None
