"""A page for each command: what it answers, all its options, all its examples.

Both come from the command itself, as `--help-all` prints them, and so from the fields of the
question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from pages.markup import code, prose, table
from planner.cli.main import app

_EXAMPLE = re.compile(r"\bplanner [a-z]")


def write(into: Path) -> list[str]:
    """Writes the pages of all commands.

    Returns:
        The pages, as paths on the site, in the order of `planner --help`.
    """
    folder = into / "reference" / "commands"
    folder.mkdir(parents=True)
    names = []
    for words, command in commands():
        name = "-".join(words)
        (folder / f"{name}.md").write_text(page(words, command), encoding="utf-8")
        names.append(f"reference/commands/{name}.md")
    return names


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands with their words, those of groups after the group."""
    whole: Any = get_command(app)
    context = typer.Context(whole, info_name="planner")
    for name in whole.list_commands(context):
        command = whole.get_command(context, name)
        if not hasattr(command, "list_commands"):
            yield (name,), command
            continue
        for inner in command.list_commands(context):
            yield (name, inner), command.get_command(context, inner)


def page(words: tuple[str, ...], command: Any) -> str:
    """The page of one command, as Markdown."""
    command._fill()  # names that only registries know
    said, examples = _parts(command.help or "")
    shown = f"\n## Examples\n\n```sh\n{examples}\n```\n" if examples else ""
    panels: dict[str, list[Any]] = {}
    for one in command.params:
        argument = one.param_type_name == "argument"
        panel = "Arguments" if argument else one.rich_help_panel or "Options"
        panels.setdefault(panel, []).append(one)
    tables = "".join(
        f"\n## {panel}\n\n{table(('option', 'meaning'), map(_row, group))}"
        for panel, group in panels.items()
    )
    return f"# planner {' '.join(words)}\n\n{said}\n{shown}{tables}"


def _parts(text: str) -> tuple[str, str]:
    """What a help text says, and its examples, a command on a line."""
    said, _, listed = re.sub(r"\n +(?=--)", " ", text.replace("\f", "")).partition("Example")
    lines = [line.strip() for line in listed.splitlines()]
    found = [line[match.start() :] for line in lines if (match := _EXAMPLE.search(line))]
    paragraphs = [" ".join(part.split()) for part in said.split("\n\n") if part.strip()]
    return "\n\n".join(f"<p>{prose(part)}</p>" for part in paragraphs), "\n".join(found)


def _row(one: Any) -> tuple[str, str]:
    """A parameter: how it is written, and what it means."""
    if one.param_type_name == "argument":
        written = code(one.metavar or one.name.upper())
    else:
        value = f" {one.metavar}" if one.metavar else ""
        written = code(f"{', '.join([*one.opts, *one.secondary_opts])}{value}")
    meaning = prose(one.help or "")
    default = one.default
    if isinstance(default, str | int | float) and not isinstance(default, bool) and default != "":
        meaning += f" (default: {code(str(default))})"
    return written, meaning
