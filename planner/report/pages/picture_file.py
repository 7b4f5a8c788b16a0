"""Pictures as files: SVG and self-contained pages without a library, PNG with resvg."""

from __future__ import annotations

from pathlib import Path

from planner.base.apart import writing
from planner.base.errors import InputError
from planner.base.files import check_writable, write_all
from planner.base.messages import did_you_mean, one_line
from planner.report.drawing.chart import Picture

ENDINGS = (".svg", ".png", ".html")


def check_picture(path: Path | None, flag: str = "plot") -> None:
    """Finds out before anything is computed that a picture could not be written.

    Args:
        path: The file; nothing is checked without one.
        flag: Name of the option, for messages.

    Raises:
        InputError: The ending is unknown, the file cannot be written, or it is a PNG and resvg-py
            is missing.
    """
    if path is None:
        return
    check_ending(path, flag)
    if path.suffix.lower() == ".png":
        from planner.report.drawing.png import load_resvg  # noqa: PLC0415  (only where a picture or page is written)

        load_resvg(flag)
    writing(path, flag)
    check_writable(path)


def check_ending(path: Path, flag: str = "plot") -> None:
    """Refuses a file that is no picture by its name.

    Raises:
        InputError: The ending is unknown.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        kinds = f"{', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        near = did_you_mean(ending, ENDINGS) if ending else ""
        raise InputError(f"{flag}: {one_line(str(path))}: pictures are written as {kinds}{near}")


def picture_bytes(picture: Picture, path: Path) -> str | bytes:
    """What a file of this name holds; for `files.write_all`, which writes several or none.

    Raises:
        InputError: The ending is unknown, or it is .png and resvg-py is missing.
    """
    check_ending(path)
    if path.suffix.lower() == ".png":
        from planner.report.drawing.png import picture_png  # noqa: PLC0415

        return picture_png(picture)
    if path.suffix.lower() == ".html":
        from planner.report.pages.page import picture_page  # noqa: PLC0415

        return picture_page(picture)
    from planner.report.drawing.svg import picture_svg  # noqa: PLC0415  (only where a picture or page is written)

    return picture_svg(picture)


def write_picture(picture: Picture, path: Path) -> None:
    """Writes a picture as the ending of its file says, whole or not at all.

    Raises:
        InputError: See `picture_bytes`; the file cannot be written.
    """
    write_all({path: picture_bytes(picture, path)})
