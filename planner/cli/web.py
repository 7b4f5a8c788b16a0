"""`planner web`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from planner.cli.options import option, whole
from planner.report.printing import print_document


def web(
    folder: Annotated[
        Path, typer.Argument(help="What `python web/build.py -o FOLDER` built, or the whole site.")
    ],
    *,
    port: Annotated[
        int, option("Of this machine; 0: a free one.", None, reads=whole("port", 0, 65535))
    ] = 8000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """The planner in a browser, served to this machine alone; nothing is written.

    Any static server serves the same folder to others. Ctrl-C ends it.

    Example, after `python web/build.py -o site/app`: planner web site/app
    """
    from planner.web.serving import server_of  # noqa: PLC0415  (not for --help)

    server = server_of(folder, port)
    with server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print_document(
            json.dumps({"address": address}) if as_json else f"{address} (Ctrl-C ends it)"
        )
        server.serve_forever()
