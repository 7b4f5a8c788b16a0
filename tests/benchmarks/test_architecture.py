"""The picture of the rooms is what the code says today."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
DRAWS = ROOT / "benchmarks" / "architecture.py"
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"


def test_the_picture_of_the_rooms_is_current(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DRAWS, tmp_path / "now.svg"], check=True)
    now = (tmp_path / "now.svg").read_bytes()
    assert now == PICTURE.read_bytes(), "draw it again: python benchmarks/architecture.py"


def test_every_room_is_in_the_picture_and_no_arrow_points_up() -> None:
    svg = PICTURE.read_text(encoding="utf-8")
    rooms = {path.parent.name for path in (ROOT / "planner").glob("*/__init__.py")}
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")} - {"planner"}
    assert rooms | packages <= set(re.findall(r">([a-z_]+)</text>", svg))
    arrows = re.findall(r"<title>(\w+) imports (\w+)</title><path [^>]*d=\"([^\"]+)", svg)
    assert {name for above, below, _ in arrows for name in (above, below)} == rooms | packages
    for *_, corners in arrows:
        heights = [float(height) for height in re.findall(r",([\d.]+)", corners)]
        assert heights == sorted(heights)
