"""Groups of commands of which each is imported and built only when it is asked for.

Importing all commands and building their parameters takes several times what Typer itself does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from planner.base.errors import InputError
from planner.cli.folded import folded, with_help_all
from planner.cli.once import Once, values_of


def group_of(**places: str) -> type[TyperGroup]:
    """The class of a group whose commands are loaded late.

    Args:
        **places: Name of each command to `module:name` in `planner.cli`, a function or a group. A
            function whose module has `FEW` shows those few options in its `--help`.
    """

    class Late(_Late):
        commands_at = places

    return Late


class _Late(TyperGroup):
    """A group whose commands are loaded late."""

    commands_at: Mapping[str, str] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: Any = _Commands(self.commands_at, _built)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses as usual, and refuses a second value of an option of every command."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        if lines := values_of(self, ctx, given)[1]:
            raise InputError("\n".join(lines))
        return rest

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands, in their order."""
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Shows help as usual."""
        with self._listed():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Completes names of commands as usual."""
        with self._listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listed(self) -> Iterator[None]:
        """Inside of it commands have their names and what they are for, which is all it takes."""
        kept, self.commands = self.commands, _Commands(self.commands_at, _named)
        try:
            yield
        finally:
            self.commands = kept


class _Commands(Mapping[str, Any]):
    """Commands by name, each made when it is first asked for."""

    def __init__(self, places: Mapping[str, str], made: Callable[[str, str], Any]) -> None:
        self._places, self._made = places, made
        self._kept: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._kept:
            self._kept[name] = self._made(name, self._places[name])
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _loaded(place: str) -> tuple[Any, Any]:
    """The module of a command, and its function or group."""
    module_name, _, name = place.partition(":")
    module = import_module(f"planner.cli.{module_name}")
    return module, getattr(module, name)


def _named(name: str, place: str) -> TyperCommand:
    """A command that only says what it is for."""
    _, found = _loaded(place)
    said = found.info.help if isinstance(found, typer.Typer) else inspect.getdoc(found)
    return TyperCommand(name=name, help=said)


def _built(name: str, place: str) -> Any:
    """A command that can be run."""
    module, found = _loaded(place)
    if isinstance(found, typer.Typer):
        group = get_group(found)
        group.name = name
        return group
    alone = typer.Typer(add_completion=False)
    few = getattr(module, "FEW", None)
    if few is None:
        alone.command(name, cls=Once)(found)
    else:
        alone.command(name, cls=folded(**few))(with_help_all(found))
    return get_command(alone)
