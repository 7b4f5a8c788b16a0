"""Commands of `planner collective`, each run once."""

import functools
from typing import Any

from cli.command import Outcome, planner

DGX1 = ("--topology", "dgx1", "--collective")


@functools.cache
def asked(*arguments: object) -> Outcome:
    """A command of the group, run once."""
    return planner("collective", *arguments)


def answer(*arguments: object) -> Any:
    outcome = asked(*arguments, "--json")
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return outcome.document
