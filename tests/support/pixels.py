"""The pixels of a PNG file."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_SEEN = 25
"""Opacity of 255 from which something is seen."""


def pixels(png: bytes) -> NDArray[np.float64]:
    """Red, green, blue and opacity from 0 to 1, shape (rows, columns, 4)."""
    with Image.open(BytesIO(png)) as image:
        return np.asarray(image.convert("RGBA"), dtype=np.float64) / 255


def colours(png: bytes) -> set[str]:
    """The colours that a picture has, as eight hexadecimal digits."""
    with Image.open(BytesIO(png)) as image:
        found = np.unique(np.asarray(image.convert("RGBA")).view(">u4"))
    return {f"{colour:08x}" for colour in found}


def box(png: bytes) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of what is drawn on nothing; None where nothing is."""
    with Image.open(BytesIO(png)) as image:
        return image.getchannel("A").point(lambda alpha: alpha >= _SEEN and 255).getbbox()
