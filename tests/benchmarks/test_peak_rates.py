"""How many peak rates are held against units, clock and width, and why others are not."""

from dataclasses import replace

from support.campaigns import campaigns

from hardware_db import list_chips, load_chip


def test_every_rate_is_checked_or_says_what_lacks() -> None:
    """Six chips had no rate that was checked, and no page said so."""
    peaks, told = campaigns("peaks"), list[str]()
    found = peaks.campaign(told.append)
    assert told == []
    rates = [load_chip(name).peak_flop_per_s for name in list_chips()]
    assert sum(count.figures for count in found.counts.values()) == sum(
        rate is not None for one in rates for rate in one.values()
    )
    for count in found.counts.values():
        checked = count.by_width + count.by_another
        left = count.without_width + count.without_clock + count.without_units
        assert (checked + left, count.faults) == (count.figures, 0)
    assert {*found.unchecked.values()} <= {"units", "clock", "width"}


def test_a_rate_that_is_wrong_would_be_seen() -> None:
    peaks, chip, told = campaigns("peaks"), load_chip("h100-sxm5-80"), list[str]()
    rates = {**chip.peak_flop_per_s, "bf16": 1.02 * chip.peak_flop_per_s["bf16"]}
    found = peaks.campaign(told.append, [replace(chip, peak_flop_per_s=rates)])
    assert (found.counts["bf16"].faults, found.counts["fp8"].by_width, len(told)) == (1, 1, 1)
    bare = replace(chip, clock_hz=None)
    found = peaks.campaign(told.append, [bare])
    assert found.unchecked == {"h100-sxm5-80": "clock"}
    assert found.counts["bf16"].without_clock == 1
