"""Colours of pictures and pages, light and dark, and the style sheet that names them.

Every tone, the ink and the muted ink reach a contrast of 4.5 to the paper in both themes (WCAG 2.2,
success criteria 1.4.3 and 1.4.11), so that they serve for text, for marks, and, as paper on a tone,
for words inside bars.
"""

from __future__ import annotations

from collections.abc import Mapping

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
FONT = "Helvetica,Arial,'Liberation Sans',sans-serif"


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
    """The look of charts, by classes; plain colours stand first for what knows no variables."""
    tones = "".join(f".chart .tone-{tone}{{{_both('color', tone)}}}\n" for tone in TONES)
    return (
        f".chart{{font-family:{FONT};font-size:12px}}\n"
        f".chart text{{{_both('fill', 'ink')}}}\n"
        f".chart .muted{{{_both('fill', 'muted')}}}\n"
        f".chart .paper{{{_both('fill', 'paper')}}}\n"
        f".chart .grid{{{_both('stroke', 'grid')};fill:none}}\n"
        f".chart .axis{{{_both('stroke', 'muted')};fill:none}}\n"
        f"{tones}"
        ".chart .fill{fill:currentColor}\n"
        ".chart .soft{fill:currentColor;fill-opacity:.13}\n"
        ".chart .faint{fill:currentColor;fill-opacity:.13;stroke:currentColor;stroke-width:1}\n"
        ".chart .line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}\n"
        ".chart .bold{stroke-width:3.6}\n"
        ".chart .dashed{stroke-dasharray:6 4}\n"
        ".chart .hatch{stroke:currentColor;stroke-width:1.2;stroke-opacity:.45;fill:none}\n"
        f".chart .gap{{{_both('stroke', 'paper')};stroke-width:1;fill:none}}\n"
        f".chart .hatch-paper{{{_both('stroke', 'paper')};stroke-width:1.3;stroke-opacity:.45;"
        "fill:none}\n"
        f".chart .ring{{fill:none;stroke:currentColor;stroke-width:2.2}}\n"
        f".chart .mark{{fill:currentColor;{_both('stroke', 'paper')};stroke-width:1}}\n"
        ".chart .spot{fill:currentColor;fill-opacity:.5}\n"
        f".chart .halo{{paint-order:stroke;{_both('stroke', 'paper')};stroke-width:3px;"
        "stroke-linejoin:round}\n"
        ".chart text.toned{fill:currentColor}\n"
        f".chart text.inside{{{_both('fill', 'paper')};paint-order:stroke;stroke:currentColor;"
        "stroke-width:4px;stroke-linejoin:round}\n"
        f".chart .leader{{{_both('stroke', 'muted')};stroke-width:.8;fill:none}}\n"
        ".chart .hit{fill:transparent;stroke:none}\n"
        ".chart .dot[tabindex]{cursor:pointer;outline:none}\n"
        f".chart .dot:focus-visible .hit,.chart .dot.chosen .hit{{{_both('stroke', 'ink')};"
        "stroke-width:2}\n"
    )


def _variables(colours: Mapping[str, str], scheme: str) -> str:
    names = "".join(f"--{name}:{colour};" for name, colour in colours.items())
    return f"{names}color-scheme:{scheme}"


def _both(attribute: str, name: str) -> str:
    return f"{attribute}:{LIGHT[name]};{attribute}:var(--{name})"
