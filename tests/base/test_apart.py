"""What a command writes goes to files apart from one another."""

from pathlib import Path

import pytest
from support.cases import each

from planner.base.apart import check_apart
from planner.base.errors import InputError
from strict_yaml.inputs import counting


@each("second", ["plan.yaml", "link.yaml", "sub/../plan.yaml", "again/plan.yaml"])
def test_two_files_of_one_place_are_refused(second: str, tmp_path: Path) -> None:
    """The second took the place of the first."""
    (tmp_path / "sub").mkdir(exist_ok=True)
    for link, target in (("link.yaml", "plan.yaml"), ("again", ".")):
        (tmp_path / link).unlink(missing_ok=True)
        (tmp_path / link).symlink_to(target)
    first = tmp_path / "plan.yaml"
    with counting(), pytest.raises(InputError, match="is the file of --output too; name another"):
        check_apart([("output", first), ("trace", tmp_path / second)])
    with counting():
        check_apart([("output", first), ("pareto", None), ("trace", tmp_path / "other.yaml")])
