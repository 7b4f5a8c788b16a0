"""Charts as SVG: what stands where, what screen readers are told, colours."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from math import atan2, degrees
from xml.etree import ElementTree

import pytest
from support.cases import each

from planner.report.drawing.chart import TONES, Area, Axis, Bar, Chart, Dot, Picture
from planner.report.drawing.geometry.chart_frame import frame_of, value_words
from planner.report.drawing.geometry.clipping import clipped_area, clipped_line
from planner.report.drawing.geometry.lettering import cut, width_of, wrapped
from planner.report.drawing.geometry.places import labels_of
from planner.report.drawing.geometry.shapes import Box
from planner.report.drawing.style.palette import DARK, LIGHT, chart_css, theme_css
from planner.report.drawing.svg import chart_svg, picture_svg
from report.charts import ALL, BOXES, PLANE, ROWS, STAGES, line

NUMBER = r"-?\d+(?:\.\d+)?"
Element = ElementTree.Element


def root_of(svg: str) -> Element:
    """The root element, without names of name spaces."""
    return ElementTree.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def drawn(chart: Chart) -> Element:
    return root_of(chart_svg(chart, ident="c"))


def pixels(path: str) -> list[tuple[float, float]]:
    """Absolute corners of a path."""
    return [(float(x), float(y)) for x, y in re.findall(rf"({NUMBER}),({NUMBER})", path)]


def paths(root: Element, look: str) -> list[str]:
    return [p.get("d", "") for p in root.iter("path") if p.get("class", "").split()[:1] == [look]]


def circles(chart: Chart) -> list[tuple[float, float]]:
    found = [c for c in drawn(chart).iter("circle") if c.get("class") == "mark"]
    return [(float(c.get("cx", "")), float(c.get("cy", ""))) for c in found]


@each("logarithmic", [False, True])
@each("downwards", [False, True])
def test_dots_stand_where_their_values_are_on_the_axes(logarithmic: bool, downwards: bool) -> None:
    values = (1.0, 10.0, 100.0) if logarithmic else (0.0, 20.0, 40.0)
    x = Axis(label="x", low=values[0], high=values[2], logarithmic=logarithmic)
    dots = tuple(Dot(x=value, y=value, tone="blue") for value in values)
    chart = Chart(title="t", x=x, y=replace(x, downwards=downwards), marks=dots, description="d")
    area = frame_of(chart, 860.0).area
    top, low = (area.bottom, area.top) if downwards else (area.top, area.bottom)
    middle = ((area.left + area.right) / 2, (low + top) / 2)
    expected = [(area.left, low), middle, (area.right, top)]
    for found, wanted in zip(circles(chart), expected, strict=True):
        assert found == pytest.approx(wanted, abs=0.06)


def test_ticks_are_written_where_dots_of_their_value_stand() -> None:
    chart = replace(PLANE, marks=(Dot(x=10, y=1000, tone="blue"),), legend=())
    ((x, y),) = circles(chart)
    written = {(t.text, t.get("text-anchor")): t for t in drawn(chart).iter("text")}
    assert float(written["10", "middle"].get("x", "")) == pytest.approx(x, abs=0.1)
    assert float(written["1,000", "end"].get("y", "")) - 4 == pytest.approx(y, abs=0.1)


@each("chart", ALL)
def test_nothing_sticks_out_of_the_axes_or_of_the_picture(chart: Chart) -> None:
    frame, root = frame_of(chart, 860.0), drawn(chart)
    area = Box(left=frame.area.left - 0.1, right=frame.area.right + 0.1,
               top=frame.area.top - 0.1, bottom=frame.area.bottom + 0.1)  # fmt: skip
    for path in [*paths(root, "soft"), *paths(root, "line")]:
        if "h17" not in path:  # of the legend
            assert all(area.distance(corner) == 0 for corner in pixels(path)), path
    for words in root.iter("text"):
        x, y = float(words.get("x", "")), float(words.get("y", ""))
        wide = width_of(words.text or "", float(words.get("font-size", "")))
        if words.get("transform"):
            continue
        left = x - {"middle": wide / 2, "end": wide}.get(words.get("text-anchor", ""), 0.0)
        assert left >= 0, words.text
        assert left + wide <= frame.width + 1, words.text
        assert 8 < y < frame.height, words.text


def test_areas_with_corners_at_zero_and_far_away_fill_the_axes_up_to_their_border() -> None:
    frame = frame_of(PLANE, 860.0)
    first, second = (pixels(path) for path in paths(drawn(PLANE), "soft"))
    knee = frame.at((10, 30))
    assert (min(x for x, _ in first), min(y for _, y in first)) == pytest.approx(
        (frame.area.left, frame.area.top), abs=0.01
    )
    assert max(x for x, _ in first) == min(x for x, _ in second) == pytest.approx(knee[0], abs=0.01)
    assert max(y for _, y in second) == pytest.approx(knee[1], abs=0.01)


def test_a_line_that_leaves_the_axes_comes_back_as_a_part_of_its_own() -> None:
    zigzag = line((-5, 5), (2, 5), (5, 15), (8, 5), (20, 5))
    (path,) = [path for path in paths(drawn(zigzag), "line")]
    area = frame_of(zigzag, 860.0).area
    parts = [pixels(part) for part in path.split("M")[1:]]
    assert [len(part) for part in parts] == [3, 3]
    assert parts[0][0][0] == pytest.approx(area.left, abs=0.01)
    assert parts[0][-1][1] == parts[1][0][1] == pytest.approx(area.top, abs=0.01)
    assert parts[1][-1][0] == pytest.approx(area.right, abs=0.01)


@each(
    ("points", "parts"),
    [
        ([(-1, -1), (-1, 5)], 0),
        ([(-5, 5), (5, -5)], 0),
        ([(-5, 5), (5, 15)], 0),
        ([(0, 0), (10, 10)], 1),
        ([(5, 5), (5, 5)], 1),
        ([(-5, 5), (15, 5)], 1),
        ([(5, 5), (20, 5), (20, 6), (5, 6)], 2),
    ],
)
def test_lines_are_cut_at_a_box(points: list[tuple[float, float]], parts: int) -> None:
    box = Box(left=0, top=0, right=10, bottom=10)
    found = clipped_line(points, box)
    assert len(found) == parts
    assert all(box.distance(point) < 1e-9 for part in found for point in part)


def test_areas_are_cut_at_a_box() -> None:
    box = Box(left=0, top=0, right=10, bottom=10)
    around = [(-5.0, -5.0), (15.0, -5.0), (15.0, 15.0), (-5.0, 15.0)]
    assert sorted(set(clipped_area(around, box))) == [(0, 0), (0, 10), (10, 0), (10, 10)]
    assert clipped_area([(20.0, 0.0), (30.0, 0.0), (30.0, 10.0)], box) == []
    half = clipped_area([(-10.0, 5.0), (10.0, 5.0), (10.0, 25.0)], box)
    assert all(box.distance(corner) < 1e-9 for corner in half)


def test_dots_outside_of_the_axes_are_not_drawn() -> None:
    assert "outside" not in "".join(drawn(PLANE).itertext())


def test_a_head_ends_where_the_line_does_and_only_inside_the_axes() -> None:
    frame, root = frame_of(PLANE, 860.0), drawn(PLANE)
    (head,) = paths(root, "fill")
    assert pixels(head)[0] == pytest.approx(frame.at((900, 400)), abs=0.01)
    beyond = replace(PLANE, marks=(replace(PLANE.marks[3], points=((1, 1), (1e6, 1e6))),))  # type: ignore[type-var]
    assert paths(drawn(beyond), "fill") == []


def test_words_along_a_line_have_its_slope() -> None:
    frame = frame_of(PLANE, 860.0)
    (turned,) = [t for t in drawn(PLANE).iter("text") if t.text == "diagonal"]
    (x, y), (x_end, y_end) = frame.at((100, 10)), frame.at((1000, 1))
    angle = float(turned.get("transform", "").removeprefix("rotate(").split()[0])
    assert angle == pytest.approx(degrees(atan2(y_end - y, x_end - x)), abs=0.01)


def test_words_of_a_bar_are_left_out_where_they_do_not_fit() -> None:
    words = [t.text for t in drawn(STAGES).iter("text")]
    assert words.count("20 GB") == 12
    assert not any("far too long" in (text or "") for text in words)


def test_a_tall_narrow_bar_has_its_words_turned() -> None:
    bar = Bar(left=4.9, right=5.1, bottom=0, top=10, tone="blue", words="as tall as this")
    (words,) = [t for t in drawn(replace(line(), marks=(bar,))).iter("text")
                if t.text == "as tall as this"]  # fmt: skip
    assert words.get("transform", "").startswith("rotate(-90 ")


def test_labels_of_dots_cover_neither_each_other_nor_dots_nor_lines() -> None:
    dots = tuple(
        Dot(x=0.9 * at, y=9.5 - 0.9 * at, tone="blue", words=f"plan {at}", strong=at == 5)
        for at in range(11)
    )
    chart = replace(line((0, 9.5), (9.5, 0)), marks=(*line((0, 9.5), (9.5, 0)).marks, *dots))
    frame = frame_of(chart, 860.0)
    found = labels_of(chart, frame)
    assert len(found) >= 9
    assert any(dot.strong for _, dot in found)
    for one, other in combinations([label.box for label, _ in found], 2):
        assert not one.overlaps(other)
    for label, _ in found:
        assert not any(label.box.overlaps(Box.around(frame.at((d.x, d.y)), 4)) for d in dots)


def ends(tick_words: list[str], x: list[float]) -> Iterator[tuple[float, float]]:
    for words, at in zip(tick_words, x, strict=True):
        yield at - width_of(words, 11) / 2, at + width_of(words, 11) / 2


@each("name", ["{}", "stage {}", "stage {} of the model", "a-name-of-32-letters-{}"])
@each("count", [1, 4, 12, 60])
def test_names_below_an_axis_do_not_touch(name: str, count: int) -> None:
    ticks = tuple((float(at), name.format(at)) for at in range(count))
    chart = replace(STAGES, x=Axis(label="", low=-1, high=count, ticks=ticks), marks=(), legend=())
    frame = frame_of(chart, 860.0)
    assert frame.x_ticks
    if frame.turned:
        assert all(b.at - a.at >= 13 for a, b in pairwise(frame.x_ticks))
        assert frame.x_ticks[0].lines[0] == ticks[0][1] or "…" in frame.x_ticks[0].lines[0]
    else:
        for row in range(max(len(tick.lines) for tick in frame.x_ticks)):
            lines = [(t.lines[row], t.at) for t in frame.x_ticks if len(t.lines) > row]
            places = list(ends([words for words, _ in lines], [at for _, at in lines]))
            assert all(a[1] < b[0] for a, b in pairwise(places))


def test_names_beside_an_axis_are_cut_where_they_are_too_long() -> None:
    ticks = ((0.0, "a name " * 40), (1.0, "short"))
    chart = replace(ROWS, y=replace(ROWS.y, ticks=ticks), marks=())
    frame = frame_of(chart, 860.0)
    assert [tick.lines[0][-1] for tick in frame.y_ticks] == ["…", "t"]
    assert frame.area.left < 0.4 * frame.width


@each(
    ("value", "words"),
    [(0, "0"), (0.25, "0.25"), (20000, "20,000"), (5e7, "5×10⁷"), (1e-6, "10⁻⁶"), (1e12, "10¹²")],
)
def test_values_of_axes_are_short(value: float, words: str) -> None:
    assert value_words(value) == words


def test_a_short_logarithmic_axis_has_ticks_too() -> None:
    axis = Axis(label="", low=3.1, high=4.6, logarithmic=True)
    assert len(frame_of(replace(line(), x=axis, y=axis), 860.0).x_ticks) >= 2


def test_text_of_users_is_escaped_and_cleaned() -> None:
    odd = 'a <script>"x"</script> & b\x00\x1b'
    dot = Dot(x=5, y=5, tone="blue", words=odd, detail=odd, key=odd)
    chart = replace(line(), title=odd, subtitle=odd, description=odd, notes=(odd,), marks=(dot,))
    svg = chart_svg(chart)
    assert "<script" not in svg
    root = root_of(svg)
    (group,) = [g for g in root.iter("g") if g.get("data-key")]
    shown = 'a <script>"x"</script> & b\ufffd\ufffd'
    assert group.get("data-key") == group.get("aria-label") == shown
    assert root.findtext("title") == shown
    root_of(picture_svg(Picture(title=odd, charts=(chart, chart))))


def test_screen_readers_get_an_image_or_a_group_of_buttons_with_names() -> None:
    image, group = drawn(STAGES), drawn(PLANE)
    assert image.get("role") == "img"
    assert group.get("role") == "group"
    for root, chart in ((image, STAGES), (group, PLANE)):
        named = {e.get("id"): e.text for e in root if e.get("id")}
        assert named[root.get("aria-labelledby")] == chart.title
        assert (named[root.get("aria-describedby")] or "").startswith(chart.description)
    (dot,) = [g for g in group.iter("g") if g.get("role") == "button"]
    assert dot.get("tabindex") == "0"
    assert dot.get("aria-label") == dot.findtext("title") == "batch 16: memory"
    assert dot.get("data-key") == "a&b"


def test_every_detail_is_a_title_of_its_mark() -> None:
    titles = [title.text for title in drawn(STAGES).iter("title")]
    details = [mark.detail for mark in STAGES.marks if isinstance(mark, Area | Bar)]
    assert set(details) <= set(titles)


def test_ids_are_unique_and_every_hatch_is_there() -> None:
    svg = picture_svg(Picture(title="all", charts=(*ALL, *ALL), columns=2))
    root = root_of(svg)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(ids)
    assert {chart_svg(chart) for chart in ALL} == {chart_svg(chart) for chart in ALL}
    assert len({re.search(r'id="([^"]+)-title', chart_svg(chart))[1] for chart in ALL}) == 4  # type: ignore[index]


def test_many_hatched_bars_share_one_path() -> None:
    fills = [e.get("fill", "") for e in drawn(ROWS).iter() if "url(" in e.get("fill", "")]
    assert len(fills) == 1
    assert sum("url(" in e.get("fill", "") for e in drawn(STAGES).iter("rect")) > 10


def test_a_picture_has_its_charts_on_a_grid() -> None:
    one = root_of(picture_svg(Picture(title=STAGES.title, charts=(STAGES,))))
    assert [t.text for t in one.iter("text")].count(STAGES.title) == 1
    root = root_of(picture_svg(Picture(title="all of them", charts=ALL, columns=2)))
    assert "all of them" in [t.text for t in root.iter("text")]
    places = [
        [float(svg.get(side, "")) for side in ("x", "y", "width", "height")]
        for svg in root.iter("svg") if svg is not root
    ]  # fmt: skip
    assert [x for x, *_ in places] == [0, places[1][0], 0, places[1][0]]
    for one_box, other in combinations(places, 2):
        (x, y, wide, high), (x2, y2, wide2, high2) = one_box, other
        assert x + wide <= x2 or x2 + wide2 <= x or y + high <= y2 or y2 + high2 <= y
    whole = float(root.get("width", "")), float(root.get("height", ""))
    assert all(x + w <= whole[0] and y + h <= whole[1] for x, y, w, h in places)


def test_the_same_chart_has_the_same_bytes() -> None:
    picture = Picture(title="all", charts=ALL, columns=2)
    assert picture_svg(picture) == picture_svg(picture)


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(front: str, back: str, share: float) -> str:
    pairs = [(int(front[at : at + 2], 16), int(back[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


@each("theme", [LIGHT, DARK])
def test_contrast_is_enough_in_both_themes(theme: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert set(TONES) <= set(theme)
    soft = float(re.search(r"\.soft\{[^}]*fill-opacity:([.\d]+)", chart_css())[1])  # type: ignore[index]
    for name in (*TONES, "ink", "muted"):
        assert contrast(theme[name], theme["paper"]) >= 4.5, name
        assert contrast(theme[name], theme["panel"]) >= 4.5, name
    for tone in TONES:  # words on areas and in faint bars
        assert contrast(theme["ink"], mixed(theme[tone], theme["paper"], soft)) >= 4.5, tone


def test_both_themes_name_the_same_colours_and_print_is_light() -> None:
    assert set(LIGHT) == set(DARK)
    css = theme_css()
    assert css.count(f"--paper:{DARK['paper']}") == 2
    printed = css[css.index("@media print") :]
    assert f"--paper:{LIGHT['paper']}" in printed
    assert DARK["paper"] not in printed


def test_lines_of_text_are_as_wide_as_asked() -> None:
    assert wrapped("", 11, 100) == []
    lines = wrapped("one two three four five six seven " * 3, 11, 100)
    assert all(width_of(text, 11) <= 100 for text in lines)
    assert " ".join(lines) == ("one two three four five six seven " * 3).strip()
    assert cut("short", 11, 100) == "short"
    assert cut("a very long word", 11, 40).endswith("…")
    assert cut("a", 11, 1) == ""


def test_axes_cover_bars_and_dots_cover_axes() -> None:
    stages = chart_svg(STAGES)
    assert stages.index('class="axis"') > stages.rindex('class="gap"')
    plane = chart_svg(PLANE)
    assert plane.rindex('class="axis"') < plane.index('class="dot ')
    assert plane.index('class="axis"') > plane.rindex('class="line bold"')


def test_a_chart_without_axes_has_no_ticks() -> None:
    assert not [p for p in drawn(BOXES).iter("path") if p.get("class") == "axis"]


def test_faint_dots_of_one_look_are_one_path() -> None:
    dots = [
        Dot(x=at / 100, y=at / 100, tone=tone, shape=shape, faint=True)
        for tone, shape in (("blue", "circle"), ("teal", "star"))
        for at in range(1000)
    ]
    named = Dot(x=5, y=5, tone="red", detail="the one to look at")
    axis = Axis(label="", low=0, high=10)
    chart = Chart(title="", x=axis, y=axis, marks=(*dots, named), description="")
    svg = chart_svg(chart, ident="f")
    root = root_of(svg)
    markers = {element.get("id"): element for element in root.iter("marker")}
    assert set(markers) == {"f-spot-circle-blue", "f-spot-star-teal"}
    frame = frame_of(chart, 860)
    paths = [path for path in root.iter("path") if path.get("marker-mid")]
    for path, run in zip(paths, (dots[:1000], dots[1000:]), strict=True):
        assert path.get("marker-start") == path.get("marker-mid")
        assert path.get("marker-end") is None
        corners = re.findall(rf"({NUMBER}),({NUMBER})", path.get("d", ""))
        assert corners[-1] == corners[-2], "the last one ends the path and has no marker"
        for corner, dot in zip(corners[:-1], run, strict=True):
            assert tuple(map(float, corner)) == pytest.approx(frame.at((dot.x, dot.y)), abs=0.06)
    assert len(svg) < 20 * len(dots)
    (circle,) = (own for own in root.iter("circle") if own.get("class") == "mark")
    assert float(circle.get("r", 0)) == 5, "faint dots do not make the others small"
