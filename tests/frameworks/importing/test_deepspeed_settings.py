"""Every setting that DeepSpeed has is known to its reader, in one way only."""

from pathlib import Path

import pytest
from support.cases import each

from frameworks.importing.deepspeed_own import own_settings
from planner.frameworks.deepspeed.effects import EFFECTS, REMOVED
from planner.frameworks.deepspeed.names import READ, SECTIONS, reasons_by_name

LISTED = Path(__file__).with_name("deepspeed-0.19.8.txt").read_text(encoding="utf-8").split()
"""Those of DeepSpeed 0.19.8, as `own_settings` finds them in the package."""


@each("name", LISTED)
def test_every_setting_is_read_or_warned_of_or_ignored(name: str) -> None:
    assert name in reasons_by_name()


def test_settings_are_known_in_one_way() -> None:
    read = set(READ.split())
    assert len(read) == len(READ.split())
    assert not read & set(EFFECTS)
    assert not set(EFFECTS) & set(REMOVED)
    assert set(REMOVED) <= set(SECTIONS)


@pytest.mark.oracle
def test_the_list_is_that_of_the_package() -> None:
    deepspeed = pytest.importorskip("deepspeed")
    if not deepspeed.__version__.startswith("0.19.8"):
        pytest.skip(f"the list is of 0.19.8, not {deepspeed.__version__}")
    assert own_settings() == set(LISTED)
