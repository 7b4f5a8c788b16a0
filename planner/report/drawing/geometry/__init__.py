"""Where the parts of a picture are, in pixels: frame, places of marks, labels that cover nothing.

Pure functions over numbers, the same for SVG and PNG. Begin with `frame` and `places`.
"""
