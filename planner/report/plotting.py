"""Matplotlib as PNG files use it: set once, the same bytes for the same figures."""

from __future__ import annotations

from typing import Any

from planner.errors import InputError

_SETTINGS: dict[Any, Any] = {  # matplotlib types its keys as literals
    "svg.hashsalt": "planner",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.axisbelow": True,
}


def load_pyplot(flag: str = "plot") -> Any:
    """Pyplot with our settings, without a display.

    Args:
        flag: Name of the option that needs it, for messages.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra, and only for pictures)
    except ImportError as error:
        raise InputError(
            f"{flag}: matplotlib is not installed; install it with: pip install 'planner[viz]'"
        ) from error
    mpl.use("agg")
    mpl.rcParams.update(_SETTINGS)
    from matplotlib import pyplot  # noqa: PLC0415  (after its backend is chosen)

    return pyplot
