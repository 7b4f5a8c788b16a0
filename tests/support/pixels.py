"""The pixels of a PNG file."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def pixels(png: bytes) -> NDArray[np.float64]:
    """Red, green, blue and opacity from 0 to 1, shape (rows, columns, 4)."""
    with Image.open(BytesIO(png)) as image:
        return np.asarray(image.convert("RGBA"), dtype=np.float64) / 255
