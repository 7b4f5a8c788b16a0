"""Colours of pictures and pages, light and dark, and the style sheet that names them.

Every tone, the ink and the muted ink reach a contrast of 4.5 to the paper in both themes (WCAG 2.2,
success criteria 1.4.3 and 1.4.11), so that they serve for text, for marks, and, as paper on a tone,
for words inside bars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.report.drawing.chart import TONES

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f4f6f8",
    "ink": "#1f2328",
    "muted": "#59606a",
    "grid": "#e4e7eb",
    "blue": "#2b67a5",
    "orange": "#b5500f",
    "green": "#2b7440",
    "purple": "#7a4696",
    "red": "#b3303f",
    "teal": "#0e7377",
    "brown": "#7b5d22",
    "grey": "#666c74",
}
DARK: Mapping[str, str] = {
    "paper": "#15181d",
    "panel": "#20242b",
    "ink": "#e8eaed",
    "muted": "#a7adb6",
    "grid": "#343a43",
    "blue": "#74b3f2",
    "orange": "#f09a5e",
    "green": "#74c585",
    "purple": "#c7a0e4",
    "red": "#f38c95",
    "teal": "#55c7c7",
    "brown": "#d0b070",
    "grey": "#a2a8b0",
}
FONT = "Helvetica,Arial,Arimo,'Liberation Sans',sans-serif"
"""All have the same widths; `png` brings Arimo along."""


def theme_css() -> str:
    """Variables of both themes.

    `data-theme` on the root element chooses one, the system's preference otherwise; what is printed
    is light.
    """
    light, dark = _variables(LIGHT, "light"), _variables(DARK, "dark")
    every = ":root,:root[data-theme],:root:not([data-theme=light])"
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
        f"@media print{{{every}{{{light}}}}}\n"
    )


def chart_css() -> str:
    """The look of charts in a page that has `theme_css`, by classes."""
    return _SHAPES + _colours(lambda name: f"var(--{name})")


def picture_css() -> str:
    """The look of charts in files of their own: light, dark on screens that are.

    Colours are literal. Previews, slides and makers of PDF that know no variables would draw
    everything black; those that know no media queries draw the light picture.
    """
    dark = _colours(DARK.__getitem__)
    return (
        f"{_SHAPES}{_colours(LIGHT.__getitem__)}"
        f"@media screen and (prefers-color-scheme:dark){{\n{dark}}}\n"
    )


_SHAPES = f""".chart{{font-family:{FONT};font-size:12px}}
.chart .grid,.chart .axis{{fill:none}}
.chart .fill{{fill:currentColor}}
.chart .soft{{fill:currentColor;fill-opacity:.13}}
.chart .faint{{fill:currentColor;fill-opacity:.13;stroke:currentColor;stroke-width:1}}
.chart .line{{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}}
.chart .bold{{stroke-width:3.6}}
.chart .dashed{{stroke-dasharray:6 4}}
.chart .hatch{{stroke:currentColor;stroke-width:1.2;stroke-opacity:.45;fill:none}}
.chart .gap{{stroke-width:1;fill:none}}
.chart .hatch-paper{{stroke-width:1.3;stroke-opacity:.45;fill:none}}
.chart .ring{{fill:none;stroke:currentColor;stroke-width:2.2}}
.chart .mark{{fill:currentColor;stroke-width:1}}
.chart .spot{{fill:currentColor;fill-opacity:.5}}
.chart .halo{{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}}
.chart text.toned{{fill:currentColor}}
.chart text.inside{{paint-order:stroke;stroke:currentColor;stroke-width:4px;stroke-linejoin:round}}
.chart .leader{{stroke-width:.8;fill:none}}
.chart .hit{{fill:transparent;stroke:none}}
.chart .dot[tabindex]{{cursor:pointer;outline:none}}
.chart .dot:focus-visible .hit,.chart .dot.chosen .hit{{stroke-width:2}}
"""
"""What does not depend on the theme."""
_COLOURED = (
    ("text", "fill", "ink"),
    (".muted", "fill", "muted"),
    (".paper,.chart text.inside", "fill", "paper"),
    (".grid", "stroke", "grid"),
    (".axis,.chart .leader", "stroke", "muted"),
    (".gap,.chart .hatch-paper,.chart .mark,.chart .halo", "stroke", "paper"),
    (".dot:focus-visible .hit,.chart .dot.chosen .hit", "stroke", "ink"),
    *((f".tone-{tone}", "color", tone) for tone in TONES),
)
"""What does: selectors inside a chart, the property, and the colour's name."""


def _colours(value: Callable[[str], str]) -> str:
    return "".join(
        f".chart {selector}{{{attribute}:{value(name)}}}\n"
        for selector, attribute, name in _COLOURED
    )


def _variables(colours: Mapping[str, str], scheme: str) -> str:
    names = "".join(f"--{name}:{colour};" for name, colour in colours.items())
    return f"{names}color-scheme:{scheme}"
