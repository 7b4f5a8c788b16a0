"""The front as CSV, JSON, SVG and HTML: complete, parseable, self-contained."""

import csv
import dataclasses
import json
import re
import xml.etree.ElementTree as ElementTree
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner
from planner import InputError
from planner.base.flat import csv_records, csv_text
from planner.report.pages.front import front_figure
from planner.report.pages.front_file import front_csv, front_svg, writer_for
from planner.results.result import SolveResult
from planner.results.words import choice_words, mesh_words

SVG = "{http://www.w3.org/2000/svg}"
QUESTIONS: dict[str, dict[str, Any]] = {
    "several points": {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8},
    "one point": {"model": "llama2-13b", "chips": 64},
    "experts": {"model": "mixtral-8x7b", "hardware": "h100-sxm5-80", "chips": 32},
    "three objectives": {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 4,
                         "front": ["time", "energy", "memory"]},
}  # fmt: skip


@pytest.fixture(scope="module", params=QUESTIONS)
def answer(request: pytest.FixtureRequest) -> SolveResult:
    """Answers with fronts of several kinds."""
    return planner.solve(**QUESTIONS[request.param])


@pytest.fixture(scope="module")
def several() -> SolveResult:
    """An answer with several points."""
    return planner.solve(**QUESTIONS["several points"])


def written(answer: SolveResult, path: Path) -> str:
    """What a file of that name holds."""
    path.write_text(writer_for(path)(answer), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def dots(root: ElementTree.Element) -> list[ElementTree.Element]:
    """The marks of the front in its order."""
    found = {group.attrib.get("data-key", ""): group for group in root.iter(f"{SVG}g")}
    count = sum(key.startswith("front-") for key in found)
    return [found[f"front-{number}"] for number in range(1, count + 1)]


def place(dot: ElementTree.Element) -> tuple[float, float]:
    """The middle of a mark, in pixels."""
    circle = dot.find(f"{SVG}circle")
    assert circle is not None
    return float(circle.attrib["cx"]), float(circle.attrib["cy"])


def flat(fields: Any, prefix: str = "") -> dict[str, Any]:
    """Leaves of nested dictionaries by dotted path."""
    if not isinstance(fields, dict):
        return {prefix[:-1]: fields}
    found: dict[str, Any] = {}
    for name, value in fields.items():
        found |= flat(value, f"{prefix}{name}.")
    return found


def test_csv(answer: SolveResult, tmp_path: Path) -> None:
    rows = list(csv.DictReader(written(answer, tmp_path / "front.csv").splitlines()))
    assert len(rows) == len(answer.front)
    for row, point in zip(rows, answer.front, strict=True):
        assert None not in row
        assert float(row["step_time_s"]) == point.step_time_s, "to the last digit"
        assert float(row["energy_per_step_j"]) == point.energy_per_step_j
        assert float(row["memory_per_chip_bytes"]) == point.memory_per_chip_bytes
        assert int(row["mesh.tp"]) == point.plan.tp
        for name, value in flat(point.to_dict()).items():
            assert name in row, name
            if isinstance(value, float):
                assert float(row[name]) == value, name


def test_json(answer: SolveResult, tmp_path: Path) -> None:
    document = json.loads(written(answer, tmp_path / "front.json"))
    rows = [point.to_dict() | {"proved": True} for point in answer.front]
    assert document["front"] == json.loads(json.dumps(rows))
    assert document["job"]["model"] == answer.question.job["model"]
    assert document["versions"] == {**answer.versions, "schema": "1"}


def test_json_has_a_schema_version(several: SolveResult, tmp_path: Path) -> None:
    assert json.loads(written(several, tmp_path / "front.json"))["schema_version"] == 1


def test_svg(answer: SolveResult, tmp_path: Path) -> None:
    root = ElementTree.fromstring(written(answer, tmp_path / "front.svg"))
    assert root.tag == f"{SVG}svg"
    marks = dots(root)
    assert len(marks) == len(answer.front)
    width, height = (float(part) for part in root.attrib["viewBox"].split()[2:])
    for mark, point in zip(marks, answer.front, strict=True):
        x, y = place(mark)
        assert 0 <= x <= width
        assert 0 <= y <= height
        title = mark.find(f"{SVG}title")
        assert title is not None
        assert re.search(r"\bchips?\b", title.text or "")
        for words in (mesh_words(point.plan), choice_words(point.plan)):
            assert words in (title.text or ""), "the full plan"
    for text in root.findall(f".//{SVG}text"):
        assert "transform" in text.attrib or 0 <= float(text.attrib["x"]) <= width
    assert root.find(f"{SVG}title") is not None, "for screen readers"


def test_svg_points_are_where_their_values_are(several: SolveResult) -> None:
    root = ElementTree.fromstring(front_svg(several))
    at = [place(dot) for dot in dots(root)]
    assert len(at) > 2
    times = [point.step_time_s for point in several.front]
    energies = [point.energy_per_step_j for point in several.front]
    for values, pixels in ((times, [x for x, _ in at]), (energies, [y for _, y in at])):
        slope = (pixels[-1] - pixels[0]) / (values[-1] - values[0])
        for value, pixel in zip(values, pixels, strict=True):
            assert pixel == pytest.approx(pixels[0] + slope * (value - values[0]), abs=0.2)


def test_svg_labels_do_not_cover_each_other(answer: SolveResult) -> None:
    """Boxes of the labels, at six pixels a character, must be apart."""
    root = ElementTree.fromstring(front_svg(answer))
    boxes = []
    for text in root.findall(f".//{SVG}text"):
        if "transform" in text.attrib:
            continue
        size = float(re.sub(r"[^\d.]", "", text.attrib.get("font-size", "12")))
        width = 0.5 * size * len(text.text or "")
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        anchor = text.attrib.get("text-anchor", "start")
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        boxes.append((left, left + width, y - 0.7 * size, y, text.text))
    for index, one in enumerate(boxes):
        for other in boxes[index + 1 :]:
            apart = (
                one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
            )
            assert apart, (one[4], other[4])


def test_the_best_plan_stands_out_in_the_svg(answer: SolveResult) -> None:
    root = ElementTree.fromstring(front_svg(answer))
    bold = [t for t in root.findall(f".//{SVG}text") if t.attrib.get("font-weight") == "bold"]
    assert answer.best is not None
    assert mesh_words(answer.best.plan) in " ".join(t.text or "" for t in bold)
    assert "best plan: least step time" in "".join(root.itertext())


def test_a_best_plan_that_is_not_on_the_front_is_drawn_beside_it() -> None:
    found = planner.solve(**QUESTIONS["several points"], objective="memory")
    assert found.best is not None
    assert all(point.plan != found.best.plan for point in found.front)
    root = ElementTree.fromstring(front_svg(found))
    assert len(dots(root)) == len(found.front)
    apart = [group for group in root.iter(f"{SVG}g") if group.attrib.get("data-key") == "best"]
    assert len(apart) == 1
    assert "best plan: least memory per chip" in "".join(root.itertext())
    assert mesh_words(found.best.plan) in "".join(root.itertext())


@each("suffix", [".svg", ".html"])
def test_titles_name_the_objectives(suffix: str, answer: SolveResult) -> None:
    text = writer_for(Path(f"front{suffix}"))(answer)
    title = re.search("<title>(.*?)</title>", text)
    assert title
    three = "memory" in answer.front.objectives
    names = "time, energy and memory" if three else "time and energy"
    assert title[1].startswith(f"Exact Pareto front of {names}: "), title[1]


def test_nothing_hides_the_step_line(several: SolveResult) -> None:
    """No white is drawn but the ground and the rims of the points."""
    root = ElementTree.fromstring(front_svg(several))
    rects = root.findall(f".//{SVG}rect")
    assert [rect.attrib["class"] for rect in rects] == ["paper"]
    assert not any("fill" in rect.attrib for rect in rects)


def test_labels_begin_with_the_chips_where_their_number_differs(answer: SolveResult) -> None:
    text = "".join(ElementTree.fromstring(front_svg(answer)).itertext())
    most = answer.question.job["chips"]
    differ = len({point.chips for point in answer.front}) > 1
    assert (f"{most:,} chips: {mesh_words(answer.front[0].plan)}\n" in text) is differ
    fewer = any(point.chips < most for point in answer.front)
    assert (f" on up to {most:,} x " in text) is fewer


def test_a_single_point_has_no_legend_of_others() -> None:
    one = front_svg(planner.solve(**QUESTIONS["several points"], clocks=False))
    many = front_svg(planner.solve(**QUESTIONS["several points"]))
    assert len(dots(ElementTree.fromstring(one))) == 1
    assert ">front<" not in one
    assert ">front<" in many


class Page(HTMLParser):
    """Collects tags and checks that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.rows = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "path", "rect", "circle", "line"):
            self.open.append(tag)
        self.rows += tag == "tr"
        self.names |= {value or "" for name, value in attrs if name == "id"}
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()


def test_html(answer: SolveResult, tmp_path: Path) -> None:
    text = written(answer, tmp_path / "front.html")
    page = Page()
    page.feed(text)
    assert page.open == []
    assert all(link.startswith("#") for link in page.links), "works offline"
    assert {link[1:] for link in page.links} <= page.names, "links lead somewhere on the page"
    assert re.findall(r"<script[^>]*>", text) == ["<script>"], "its own script, and no other"
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert script
    digest = b64encode(sha256(script[1].encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}';"
    assert policy in unescape(text), "the only one that runs"
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    for number in range(1, len(answer.front) + 1):
        assert f"front-{number}" in page.names, "the full plan of each point"
    assert page.rows > len(answer.front)
    assert 'lang="en"' in text
    assert answer.question.job["model"] in text


def test_the_picture_on_a_page_keeps_what_is_said_below_it(several: SolveResult) -> None:
    """But the note of the front, which stands below the table there."""
    found = [one for one in several.candidates.neighbors if one.result is not None]
    assert found
    far = tuple(
        dataclasses.replace(one, result=dataclasses.replace(
            one.result, step_time_s=99 * one.result.step_time_s,
            plan=dataclasses.replace(one.result.plan, micro_batch=999),
        ))
        for one in found if one.result is not None
    )  # fmt: skip
    candidates = dataclasses.replace(several.candidates, neighbors=far)
    changed = dataclasses.replace(several, candidates=candidates)
    (chart,) = front_figure(changed).picture.charts
    words = f"{len(far)} plans one step" if len(far) > 1 else "1 plan one step"
    assert any(note.startswith(words) and "outside of the picture" in note for note in chart.notes)
    assert several.front.note
    assert several.front.note not in chart.notes


def test_a_page_says_when_the_front_is_not_complete(tmp_path: Path) -> None:
    """A picture that is titled exact must be exact."""
    question: dict[str, Any] = {"model": "llama2-70b", "hardware": "h100-sxm5-80", "chips": 512,
                "placement": "all"}  # fmt: skip
    for limit in (0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8):
        found = planner.solve(**question, time_limit=limit)
        if found.status == "feasible":
            break
    else:
        pytest.skip("no limit stopped the search between its first and its last plan")
    assert "Exact" not in front_svg(found)


@each("name", ["<b>&amp;", 'a"b', "]]>"])
def test_names_are_escaped(name: str, several: SolveResult) -> None:
    job = {**several.question.job, "model": name, "chip": name}
    odd = dataclasses.replace(several, question=dataclasses.replace(several.question, job=job))
    assert name in "".join(ElementTree.fromstring(front_svg(odd)).itertext())
    page = writer_for(Path("x.html"))(odd)
    assert name not in page or not re.search('[<&"]', name)


@each("suffix", [".CSV", ".Json", ".SVG", ".HTML"])
def test_endings_in_capitals(suffix: str, several: SolveResult, tmp_path: Path) -> None:
    assert written(several, tmp_path / f"front{suffix}")


@each("name", ["front", "front.pdf", "front.csv.gz", ".csv"])
def test_other_endings_name_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.json, \.svg, \.html"):
        writer_for(Path(name))


def test_csv_is_read_back(several: SolveResult) -> None:
    records = csv_records(front_csv(several), ("offload", "placement.order"))
    assert len(records) == len(several.front)
    for record, point in zip(records, several.front, strict=True):
        assert record["schema_version"] == 1
        assert record["job"] == dict(several.question.plan_job)
        for name in ("mesh", "clock", "offload", "step_time_s", "breakdown"):
            assert record[name] == point.to_dict()[name], name


def test_mappings_in_a_list_and_cells_without_a_value() -> None:
    stages = [{"layers": 17, "recompute": "full"}, {"layers": 15}]
    record = {"stages": stages, "words": ["a", "b"], "none": [], "in": {"x": 1e-7}, "end": 1}
    text = csv_text([record, {"words": [], "none": [], "end": 2, "late": True}], last="end")
    assert csv_records(text, ("words", "none")) == [
        record, {"words": [], "none": [], "late": True, "end": 2},
    ]  # fmt: skip
