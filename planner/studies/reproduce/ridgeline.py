"""Ridgeline: A 2D Roofline Model for Distributed Systems (document 001), figure by figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from planner.studies.reproduce.documents import Value
from planner.studies.reproduce.found import Found, Shown
from planner.studies.ridgeline.answer import RidgelineResult
from planner.studies.ridgeline.asking import ridgelines
from planner.studies.ridgeline.plane import COMPUTE, MEMORY, NETWORK, Counts, Ridge, place

HARDWARE, CASE = "xeon-clx-socket", "mlp-4096"
AT_512 = (
    "At 512 the ring all-reduce takes 11.18 ms and computing 12.27 ms by the paper's own rates; "
    "the text has the all-reduce longer up to 512, its figure 6 and conclusion do not."
)


@lru_cache(maxsize=1)
def _machine() -> RidgelineResult:
    """The paper's socket, without work."""
    return ridgelines(hardware=HARDWARE)


@lru_cache(maxsize=1)
def _layer() -> RidgelineResult:
    """The paper's layer over batches."""
    return ridgelines(hardware=HARDWARE, case=CASE)


def _binding(ridge: Ridge, x: float, y: float) -> int:
    """What binds at a place of the plane."""
    counts = Counts(
        names=("here",), flop=np.array([x * y]), memory_bytes=np.array([x]),
        network_bytes=np.ones((1, 1)),
    )  # fmt: skip
    return int(place((ridge,), counts).region[0])


def _drawn(result: RidgelineResult, panel: str, label: str, note: str = "") -> tuple[Shown, ...]:
    return (Shown(answer=result, panels=(panel,), labels=(f"Figure {label}",), note=note),)


def naive() -> Found:
    """Figure 1: a surface over arithmetic and network intensity."""
    ridge = _machine().ridges[0]
    places = [(x, y) for x in np.geomspace(0.1, 1000, 9) for y in np.geomspace(0.5, 4000, 9)]
    faces = {_binding(ridge, x, y) for x, y in places}
    return Found(
        values={"faces": len(faces)}, pictured=_drawn(_machine(), "naive", "1")
    )  # fmt: skip


def arithmetic() -> Found:
    """Figure 2a: the horizontal line."""
    ridge = _machine().ridges[0]
    return Found(values={"y": ridge.knee_y}, pictured=_drawn(_machine(), "arithmetic", "2a"))


def bandwidth() -> Found:
    """Figure 2b: the vertical line."""
    ridge = _machine().ridges[0]
    return Found(values={"x": ridge.knee_x}, pictured=_drawn(_machine(), "bandwidth", "2b"))


def quadrants() -> Found:
    """Figure 2c: what binds in each quadrant."""
    ridge = _machine().ridges[0]
    x, y = ridge.knee_x, ridge.knee_y
    upper_left = {_binding(ridge, x / away, 2 * y) for away in (1.5, 4.0)}
    return Found(
        values={
            "lower_left": _binding(ridge, x / 2, y / 2) == NETWORK,
            "lower_right": _binding(ridge, 2 * x, y / 2) == MEMORY,
            "upper_right": _binding(ridge, 2 * x, 2 * y) == COMPUTE,
            "upper_left": upper_left == {NETWORK, COMPUTE},
        },
        pictured=_drawn(_machine(), "quadrants", "2c"),
    )


def products() -> Found:
    """Figure 2d: the diagonal."""
    ridge = _machine().ridges[0]
    knee = ridge.knee_x * ridge.knee_y
    return Found(
        values={"k": ridge.diagonal, "through_knee": bool(np.isclose(knee, ridge.diagonal))},
        pictured=_drawn(_machine(), "products", "2d"),
    )


def regions() -> Found:
    """Figure 2e, and the sentence that all points on the ridge have the same FLOP/s."""
    ridge = _machine().ridges[0]
    x, y = ridge.knee_x, ridge.knee_y
    diagonal = [ridge.share(x / by, y * by) for by in (1.0, 3.0, 9.0)]
    upright = [ridge.share(x, y / by) for by in (1.0, 3.0, 9.0)]
    return Found(
        values={
            "diagonal": bool(np.allclose(diagonal, 1.0)),
            "ridge": bool(np.allclose(upright, 1.0)),
        },
        pictured=_drawn(_machine(), "ridgeline", "2e"),
    )


def surface() -> Found:
    """Figure 3: FLOP/s over the plane, with both rooflines on it."""
    ridge = _machine().ridges[0]
    ys = np.geomspace(ridge.knee_y / 8, ridge.knee_y * 8, 33)
    product = 4 * ridge.diagonal
    along = [ridge.flop_per_s * ridge.share(product / y, y) for y in ys]
    return Found(
        values={"roofline": bool(np.allclose(along, ridge.roof(ys)))},
        pictured=_drawn(_machine(), "surface", "3"),
    )


def intensity() -> Found:
    """Figure 4a: FLOP per byte over batches, and the socket's line."""
    layer = _layer()
    values = layer.counts.flop / layer.counts.memory_bytes
    return Found(
        values={"line": layer.ridges[0].knee_y, "grows": bool(np.all(np.diff(values) > 0))},
        pictured=_drawn(layer, "intensity", "4a"),
    )


def roofline() -> Found:
    """Figure 4b: the first batch that the roofline calls compute-bound."""
    layer = _layer()
    values = layer.counts.flop / layer.counts.memory_bytes
    first = layer.steps[int(np.argmax(values >= layer.ridges[0].knee_y))]
    return Found(values={"batch": first}, pictured=_drawn(layer, "roofline", "4b"))


def times() -> Found:
    """Figure 4c: computing and the all-reduce."""
    placed, steps = _layer().placed, _layer().steps
    longer = placed.network_s[:, 0] > placed.compute_s
    at = steps.index(512.0)
    values: dict[str, Value] = {
        "last": max(step for step, is_longer in zip(steps, longer, strict=True) if is_longer),
        "compute": float(placed.compute_s[at]),
        "network": float(placed.network_s[at, 0]),
    }
    return Found(values=values, pictured=_drawn(_layer(), "times", "4c", AT_512))


def ridge() -> Found:
    """Figure 6a: the plane with the batches."""
    layer = _layer()
    here, placed = layer.ridges[0], layer.placed
    at = layer.steps.index(512.0)
    return Found(
        values={
            "x": here.knee_x,
            "y": here.knee_y,
            "on_ridge": bool(placed.near_ridge[at]),
            "above": bool(np.all(placed.region[at + 1 :] == COMPUTE)),
            "below": bool(np.all(placed.region[:at] == NETWORK)),
        },
        pictured=_drawn(layer, "ridgeline", "6a"),
    )


def projected() -> Found:
    """Figure 6b: the projected time is the longest of the three."""
    placed = _layer().placed
    three = np.stack([placed.compute_s, placed.memory_s, placed.network_s[:, 0]])
    return Found(
        values={"longest": bool(np.array_equal(placed.bound_s, three.max(axis=0)))},
        pictured=_drawn(_layer(), "projected", "6b"),
    )


RUNS: Mapping[str, Callable[[], Found]] = {
    "fig1": naive,
    "fig2a": arithmetic,
    "fig2b": bandwidth,
    "fig2c": quadrants,
    "fig2d": products,
    "fig2e": regions,
    "fig3": surface,
    "fig4a": intensity,
    "fig4b": roofline,
    "fig4c": times,
    "fig6a": ridge,
    "fig6b": projected,
}
