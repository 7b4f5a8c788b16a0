"""Networks: what a collective costs on a group of chips placed on a hierarchy of levels.

There is one file per mechanism: placement of groups, rates of levels, a torus, sums inside
switches. The wirings themselves, as graphs and in closed form, are in `topology`. Imports
`plan`, `assumptions`, `base` and `hardware_db`. Begin with `collectives`, which has alpha + beta *
bytes, and `fabric`, the levels.
"""
