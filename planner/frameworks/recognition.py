"""Which framework a launch is of, by its text."""

from __future__ import annotations

from planner.base.errors import InputError
from planner.frameworks.registry import every
from planner.frameworks.targets import launch_sources

AUTO = "auto"
"""What `--from` takes for a launch of any framework."""


def known_as(text: str) -> str:
    """The target whose launch a text is; empty: none knows it."""
    return next((target for one in every() if (target := one.recognizes(text))), "")


def recognized(text: str, name: str, missing: str = "") -> str:
    """The target whose launch a text is: of the frameworks, the first that knows it as its own.

    Args:
        text: The launch.
        name: What messages call it.
        missing: A file of settings that it names and that is not there.

    Raises:
        InputError: None does; with what is missing, where one knows that.
    """
    if target := known_as(text):
        return target
    for framework in every():
        if line := framework.unread(text):
            raise InputError(f"{name}: {line}")
    if missing:
        raise InputError(f"{name}: names {missing}, which does not lie beside it, and no framework")
    sources = ", ".join(launch_sources())
    raise InputError(
        f"{name}: is not known as a launch of any of {sources}; --from names the framework"
    )
