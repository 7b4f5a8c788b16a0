"""Charts drawn: as SVG without a library, as PNG with matplotlib.

`chart` is the data of a picture, `svg` and `figure` draw it with `axes` and `marks`. Where things
are is worked out in `geometry`, colours and hatches are in `style`. Nothing here knows of plans.
Begin with `chart`.
"""
