"""Numbers with units: what people type, and what they read."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each

from planner import InputError
from planner.base.units import (
    is_change,
    parse_bytes,
    parse_chance,
    parse_count,
    parse_joules,
    parse_mm2,
    parse_seconds,
    parse_share,
    parse_watts,
    parse_whole,
    pattern_of,
    show_bytes,
    show_change,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watts,
)

PARSERS = (parse_count, parse_whole, parse_bytes, parse_seconds, parse_watts)
PREFIX = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9,
          "T": 1e12, "P": 1e15}  # fmt: skip


@each(("text", "value"), [
    ("4096", 4096), ("3e6", 3_000_000), ("4Mi", 4_194_304), ("1.5T", 1_500_000_000_000),
    ("2k", 2000), ("2K", 2000), ("2Ki", 2048), ("7G", 7_000_000_000), ("1Gi", 1_073_741_824),
    ("1Ti", 1_099_511_627_776), ("1Pi", 1_125_899_906_842_624), ("1P", 10**15), (" 12 k ", 12_000),
    ("1_000", 1000), (".5k", 500), ("1.e3", 1000), ("+8", 8), ("-8", -8), ("2E+3", 2000),
])  # fmt: skip
def test_counts(text: str, value: float) -> None:
    assert parse_count(text) == value
    assert parse_whole(text) == value
    assert isinstance(parse_whole(text), int)


@each(("text", "value"), [
    ("80GB", 80e9), ("80G", 80e9), ("80GiB", 85_899_345_920), ("74.5GiB", 74.5 * 2**30),
    ("512", 512), ("512B", 512), ("1.5 TB", 1.5e12), ("3MiB", 3 * 2**20), ("2kB", 2000),
])  # fmt: skip
def test_bytes(text: str, value: float) -> None:
    assert parse_bytes(text) == value


@each(("text", "value"), [
    ("90", 90), ("90s", 90), ("250ms", 0.25), ("5min", 300), ("2h", 7200), ("30d", 2_592_000),
    ("1y", 365.25 * 86400), ("1e-3s", 0.001),
])  # fmt: skip
def test_seconds(text: str, value: float) -> None:
    assert parse_seconds(text) == pytest.approx(value, rel=1e-15)


@each(("text", "value"), [
    ("700", 700), ("700W", 700), ("1.2kW", 1200), ("10MW", 10_000_000), ("2GW", 2_000_000_000),
])  # fmt: skip
def test_watts(text: str, value: float) -> None:
    assert parse_watts(text) == value


@each(("text", "value"), [
    ("72TJ", 72e12), ("72e12", 72e12), ("5J", 5), ("20GWh", 72e12), ("1Wh", 3600), ("2 kWh", 7.2e6),
])  # fmt: skip
def test_joules(text: str, value: float) -> None:
    assert parse_joules(text) == value


@each(("text", "share"), [("90%", 0.9), ("0.5", 0.5), ("100%", None), ("1", None), ("0%", None),
                          ("0", None), ("-5%", None), ("nan", None)])  # fmt: skip
def test_a_chance_is_neither_certain_nor_none(text: str, share: float | None) -> None:
    if share is not None:
        assert parse_chance(text, "deadline", "60d@90%") == share
        return
    with pytest.raises(InputError, match=f"a chance of '{text}' is none; allowed: above 0 and"):
        parse_chance(text, "deadline", "60d@90%")


@each("parse", PARSERS)
@each("text", [
    "", " ", "abc", "nan", "inf", "-inf", "1e999", "1.2.3", "10^12", "1,000", "0x10", "--1", "1 2",
    "e5", "k", "12furlongs", "12 %", "1e300P", "٣ apples", "1\n2", "\x00",
])  # fmt: skip
def test_what_is_not_a_number_is_an_input_error(parse: object, text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text, "chips")  # type: ignore[operator]
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith("chips: ")


@each(("parse", "text", "words"), [
    (parse_bytes, "80Gb", "80GB"),  # bits are not bytes
    (parse_bytes, "80W", "80GB"),
    (parse_seconds, "3W", "ms s min h d y"),
    (parse_watts, "3s", "700W"),
    (parse_count, "3GB", "k M G T P Ki Mi Gi Ti Pi"),
])  # fmt: skip
def test_a_wrong_unit_names_the_right_ones(parse: object, text: str, words: str) -> None:
    with pytest.raises(InputError, match=f"{re.escape(repr(text))}.*{re.escape(words)}"):
        parse(text, "field")  # type: ignore[operator]


@each(("text", "nearest"), [("1.5", 2), ("0.4", 1), ("2.4", 2), ("1.0001k", 1000)])
def test_a_count_that_is_not_whole_names_the_nearest(text: str, nearest: int) -> None:
    with pytest.raises(InputError, match=f"not a whole number; nearest: {nearest}$"):
        parse_whole(text)


@each(("show", "value", "text"), [
    (show_bytes, 81_604_378_624, "81.6 GB"), (show_bytes, 0, "0 B"), (show_bytes, 1.0, "1 B"),
    (show_bytes, 999_999_999, "1 GB"), (show_bytes, 2.5e15, "2.5 PB"),
    (show_seconds, 0.397, "397 ms"), (show_seconds, 1.27, "1.27 s"), (show_seconds, 0, "0 s"),
    (show_seconds, 6e-6, "6 us"), (show_seconds, 5000, "5,000 s"), (show_seconds, 11520, "3.2 h"),
    (show_seconds, 17 * 86400, "17 d"), (show_seconds, 999.96, "1,000 s"),
    (show_joules, 2.31e6, "2.31 MJ"), (show_watts, 512, "512 W"), (show_watts, 2.1e6, "2.1 MW"),
    (show_count, 4096, "4,096"), (show_count, 13.02e9, "13.02 G"), (show_count, 999_999, "999,999"),
    (show_percent, 0.4321, "43.2 %"), (show_percent, 1.0, "100 %"), (show_percent, 0.0, "0 %"),
])  # fmt: skip
def test_printed_numbers(show: object, value: float, text: str) -> None:
    assert show(value) == text  # type: ignore[operator]


@each(("show", "value", "digits"), [
    (show_percent, 12.34, "1234"), (show_percent, 9.999, "1000"),
    (show_seconds, 1234 * 86400, "1234"), (show_seconds, 30 * 365 * 86400, "10950"),
])  # fmt: skip
def test_large_figures_are_written_out(show: object, value: float, digits: str) -> None:
    text = show(value)  # type: ignore[operator]
    assert "e" not in text, text
    assert text.replace(",", "").startswith(digits[:3])


def _read_back(text: str, unit: str) -> float:
    match = re.fullmatch(r"(-?[\d.]+(?:e[+-]?\d+)?) ([pnumkMGTP]?)" + unit, text)
    assert match, text
    return float(match[1]) * PREFIX[match[2]]


@settings(max_examples=300, deadline=None)
@given(value=st.floats(1e-11, 9.99e17))
def test_printed_quantities_lose_only_their_last_digits(value: float) -> None:
    assert _read_back(show_bytes(value), "B") == pytest.approx(value, rel=6e-3)
    assert _read_back(show_watts(value), "W") == pytest.approx(value, rel=6e-3)
    assert _read_back(show_joules(value), "J") == pytest.approx(value, rel=6e-4)


@settings(max_examples=300, deadline=None)
@given(value=st.floats(1e-9, 1e9))
def test_printed_times_can_be_typed_again(value: float) -> None:
    text = show_seconds(value).replace(",", "")
    if " us" not in text and " ns" not in text:
        assert parse_seconds(text) == pytest.approx(value, rel=6e-3)


@settings(max_examples=300, deadline=None)
@given(value=st.floats(1e3, 9.99e17))
def test_printed_bytes_and_watts_can_be_typed_again(value: float) -> None:
    assert parse_bytes(show_bytes(value)) == pytest.approx(value, rel=6e-3)
    assert parse_watts(show_watts(value)) == pytest.approx(value, rel=6e-3)


@settings(max_examples=300, deadline=None)
@given(value=st.integers(1, 2**53))
def test_a_whole_number_survives_its_text(value: int) -> None:
    assert parse_whole(str(value)) == value
    assert parse_whole(f"{value:_}") == value


@each(
    ("text", "mm2"),
    [("6000", 6000), ("6.7e6", 6.7e6), ("6.7M", 6.7e6), ("6000mm2", 6000), ("60 cm^2", 6000),
     ("0.006m2", 6000), ("6000 mm\u00b2", 6000)],
)  # fmt: skip
def test_areas(text: str, mm2: float) -> None:
    assert parse_mm2(text) == pytest.approx(mm2)
    assert re.fullmatch(pattern_of("area"), text)


@each("text", ["3kg", "5Mm2", "mm2", "", "nan", "1e99m2", "5mm"])
def test_what_is_no_area(text: str) -> None:
    with pytest.raises(InputError, match="is not an area; write it like 5000mm2 or 50cm2"):
        parse_mm2(text)


@settings(max_examples=500, deadline=None)
@given(text=st.text(max_size=12) | st.from_regex(r"[-+]?[0-9.]{1,6}(e[0-9]{1,4})?[A-Za-z]{0,3}"))
def test_any_text_is_a_finite_number_or_an_input_error(text: str) -> None:
    for parse in PARSERS:
        try:
            value = parse(text, "field")
        except InputError:
            continue
        assert math.isfinite(value)


def test_shares() -> None:
    assert parse_share("40%") == parse_share("40 %") == 0.4
    assert parse_share("7%") == 0.07
    with pytest.raises(InputError, match="write it like 40%"):
        parse_share("40W")


@each(
    ("share", "words"),
    [(0.000748, "0.07 %"), (-0.00119, "0.12 %"), (0.4835, "48.4 %"), (0.0142, "1.42 %")],
)
def test_changes_are_told_to_a_hundredth_of_a_per_cent(share: float, words: str) -> None:
    assert show_change(share) == words
    assert is_change(share)
    assert not is_change(share / 1e6)


def test_whole_numbers_keep_all_their_digits() -> None:
    assert parse_whole("9" * 35) == int("9" * 35)
    assert parse_whole("1e35") == 10**35
    assert parse_whole("1.1M") == 1_100_000
    assert parse_whole("0e999999999") == 0
    with pytest.raises(InputError, match=r"is not a whole number; nearest: 9007199254740992$"):
        parse_whole("9007199254740992.5")  # no floating-point number has the half
