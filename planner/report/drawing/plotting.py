"""Matplotlib, which PNG files alone need."""

from __future__ import annotations

from typing import Any

from planner.base.errors import InputError


def load_pyplot(flag: str = "plot") -> Any:
    """Pyplot without a display.

    Args:
        flag: Name of the option that needs it, for messages.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: PLC0415  (an extra, and only for pictures)
    except ImportError as error:
        raise InputError(
            f"{flag}: matplotlib is not installed; install it with: "
            "pip install 'parallelism-planner[viz]'"
        ) from error
    mpl.use("agg")
    from matplotlib import pyplot  # noqa: PLC0415  (after its backend is chosen)

    return pyplot
