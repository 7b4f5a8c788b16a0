"""Charts drawn: as SVG without a library, as PNG with resvg.

`chart` is the data of a picture, `svg` draws it with `axes` and `marks`, `png` turns that to
pixels. Where things are is worked out in `geometry`, colours and hatches are in `style`. Nothing
here knows of plans. Begin with `chart`.
"""
