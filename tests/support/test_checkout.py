"""A file that a test leaves in the checkout is noticed, and told of once."""

from __future__ import annotations

from pathlib import Path

from support.checkout import Listing


def test_what_is_left_is_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    listing = Listing(tmp_path)
    assert listing.left() == []
    for name in ("local.yaml", "measurements", ".pytest_cache", "build", "__pycache__"):
        (tmp_path / name).mkdir()
    assert listing.left() == ["local.yaml", "measurements"]
    assert listing.left() == []
    (tmp_path / "README.md").unlink()
    assert listing.left() == []
