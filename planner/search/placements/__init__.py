"""Placements: in which order mesh axes lie on the network, and along which axes of a torus.

`patterns` enumerates what a torus allows, `layouts` makes candidates of them, `groups` finds those
that cost the same. Imports `planner.network` and `planner.cost`. Begin with `layouts`.
"""
