"""Pictures as files: endings, what is missing, nothing half-written."""

import re
import sys
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.report.drawing.chart import Picture
from planner.report.pages.picture_file import check_picture, picture_bytes, write_picture
from report.charts import STAGES

PICTURE = Picture(title=STAGES.title, charts=(STAGES,))
WRITTEN = "pictures are written as .svg, .png or .html"


@each(
    ("name", "words"),
    [
        ("a.pdf", f"plot: a.pdf: {WRITTEN}"),
        ("a", f"plot: a: {WRITTEN}"),
        ("a.htm", f"plot: a.htm: {WRITTEN}; did you mean '.html'?"),
        ("a.sgv", f"plot: a.sgv: {WRITTEN}; did you mean '.svg'?"),
    ],
)
def test_other_endings_are_refused_with_the_nearest(name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        check_picture(Path(name))
    assert str(caught.value) == words
    with pytest.raises(InputError, match="pictures are written as"):
        picture_bytes(PICTURE, Path(name))


def test_the_flag_is_named_in_messages() -> None:
    with pytest.raises(InputError, match=r"^trace: a\.pdf: pictures"):
        check_picture(Path("a.pdf"), "trace")


def test_a_png_needs_resvg_and_the_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(InputError, match=r"^plot: resvg-py is not installed; install it with"):
        check_picture(tmp_path / "a.png")
    for name in ("a.svg", "a.HTML"):
        check_picture(tmp_path / name)
        write_picture(PICTURE, tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.HTML", "a.svg"]


def test_a_file_that_cannot_be_written_is_found_before(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        check_picture(tmp_path / "none" / "a.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        check_picture(tmp_path / "folder.svg")
    check_picture(None)


def test_what_a_file_holds_goes_by_its_ending(tmp_path: Path) -> None:
    svg, page = (picture_bytes(PICTURE, Path(name)) for name in ("a.SVG", "a.html"))
    assert isinstance(svg, str)
    assert isinstance(page, str)
    assert svg.startswith("<svg ")
    assert page.startswith("<!doctype html>")
    write_picture(PICTURE, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == svg


def test_a_png_is_bytes() -> None:
    assert isinstance(picture_bytes(PICTURE, Path("a.png")), bytes)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("rack", "zero", "--figure", "4", "--gpus", "2-8"), "hides the fetch"),
        (("rack", "topology", "ring:4", "mesh:2x2"), "<caption>Links</caption>"),
        (("rack", "parallelism", "--figure", "10", "--rack-chips", "4"), "Figure 10."),
        (("rack", "solve", "--gpus", "2", "--strategy", "dp"), "Energy of the best plan</caption>"),
        (("feasible", "--model", "llama2-13b", "--assumptions", "roofline", "--chips", "64"), "TP"),
    ],
)
def test_commands_that_draw_without_a_library_write_the_same_page(
    command: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    from cli.command import planner  # noqa: PLC0415

    path = tmp_path / "a.html"
    assert planner(*command, "--plot", str(path)).code == 0
    page = path.read_text(encoding="utf-8")
    assert "Content-Security-Policy" in page
    assert words in page
    assert page.count("<caption>") >= 1
    assert re.search(r'<svg class="chart" [^>]*role="img" aria-labelledby=', page)
