"""`planner sweep status`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import AsJson


def status(
    store: Annotated[Path, typer.Argument(help="The store of a study.")], *, as_json: AsJson = False
) -> None:
    """How far a study is: points done, to do, stale and failed; who runs it now.

    Examples:
      planner sweep status study.db

      planner sweep status study.db --json
    """
    from planner.cli.sweep_run import show  # noqa: PLC0415  (not for --help)
    from planner.studies.sweep.answer import opened  # noqa: PLC0415

    show(opened(store), as_json=as_json)
