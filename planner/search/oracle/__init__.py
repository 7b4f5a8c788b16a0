"""An independent check of the search: the mesh problem as an integer program over whole numbers.

It takes the space and its placements from `search.uniform` and none of its bounds, so that an error
in one shows in the other. Begin with `oracle`.
"""
