"""Hand-made charts of every kind, for the tests of what draws them."""

from dataclasses import replace

from planner.report.drawing.chart import (
    HATCHES,
    SHAPES,
    Area,
    Axis,
    Bar,
    Chart,
    Dot,
    Key,
    Line,
    Words,
)

PLANE = Chart(
    title="Plane of <one> & another socket",
    subtitle="batch 16 to 16,384",
    x=Axis(label="memory bytes per network byte", low=0.1, high=1e4, logarithmic=True),
    y=Axis(label="FLOP per memory byte", low=0.1, high=1e4, logarithmic=True),
    marks=(
        Area(corners=((0, 1e9), (0, 30), (10, 30), (10, 1e9)), tone="orange", hatch="slant"),
        Area(corners=((10, 30), (1e9, 30), (1e9, 1e9), (10, 1e9)), tone="blue", detail="compute"),
        Line(points=((1e-3, 1e6), (1e6, 1e-3)), tone="red", dashed=True),
        Line(points=((1, 1), (10, 100), (900, 400)), tone="purple", arrow=True),
        Line(points=((1, 1e5), (2, 5000), (4, 1e5), (8, 5000), (16, 1e5)), tone="grey", bold=True),
        Dot(x=100, y=1, tone="purple", words="batch 16", key="a&b", detail="batch 16: memory"),
        Dot(x=1000, y=100, tone="purple", shape="square", words="batch 512", strong=True),
        Dot(x=1e5, y=1, tone="purple", words="outside"),
        Words(x=100, y=10, words="diagonal", tone="red", towards=(1000, 1)),
    ),
    legend=(Key(words="plan", tone="purple"), Key(words="bound", tone="red", kind="dashed")),
    notes=("A note that is " + "very " * 60 + "long.",),
    description="Three regions of a plane.",
    header=("batch", "region"),
    rows=(("16", "memory"), ("512", "<compute>")),
)
_BARS = tuple(
    Bar(
        left=stage - 0.4, right=stage + 0.4, bottom=20 * part, top=20 * part + 20, tone=tone,
        hatch=HATCHES[part], words="20 GB" if part else "far too long for a bar of this width",
        faint=part == 3, detail=f"{tone} of stage {stage}",
    )
    for stage in range(4)
    for part, tone in enumerate(("blue", "orange", "green", "grey"))
)  # fmt: skip
STAGES = Chart(
    title="Memory per stage",
    x=Axis(
        label="stage", low=-0.5, high=3.5,
        ticks=tuple((stage, f"stage {stage}") for stage in range(4)),
    ),
    y=Axis(label="memory (GB)", low=0, high=100),
    marks=(*_BARS, Line(points=((-9, 80), (9, 80)), tone="red", bold=True)),
    legend=(
        Key(words="weights", tone="orange", kind="bar", hatch="slant"),
        Key(words="free", tone="grey", kind="bar", hatch="dots", faint=True),
        Key(words="limit", tone="red", kind="line"),
        Key(words="region", tone="teal", kind="area", hatch="cross"),
    ),
    description="What fills the memory of each stage.",
)  # fmt: skip
ROWS = Chart(
    title="Schedule",
    x=Axis(label="time (ms)", low=0, high=120),
    y=Axis(
        label="", low=-0.5, high=3.5, downwards=True,
        ticks=tuple((row, f"stage {row}") for row in range(4)),
    ),
    marks=tuple(
        Bar(left=10 * (row + at), right=10 * (row + at) + 10, bottom=row - 0.4, top=row + 0.4,
            tone="blue", hatch="slant" if at % 2 else "", words=f"{at}")
        for row in range(4)
        for at in range(40)
    ),
    description="A pipeline.",
    height=0.3,
)  # fmt: skip
BOXES = replace(
    ROWS, title="Mesh", x=replace(ROWS.x, hidden=True), y=replace(ROWS.y, hidden=True),
    marks=tuple(Dot(x=10 * at, y=1, tone="teal", shape=shape) for at, shape in enumerate(SHAPES)),
    legend=tuple(Key(words=shape, tone="grey", shape=shape) for shape in SHAPES),
)  # fmt: skip
ALL = (PLANE, STAGES, ROWS, BOXES)


def line(*points: tuple[float, float], **given: str) -> Chart:
    """A chart of 0..10 by 0..10 with one line."""
    marks = (Line(points=points, tone="blue"),)
    ten = Axis(label="", low=0, high=10)
    return Chart(title="t", x=ten, y=ten, marks=marks, description=given.get("description", "d"))
