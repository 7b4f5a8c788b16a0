"""Clocks per operation of a given plan: each pass of each stage and micro-batch has its own.

`graph` makes operations of a plan's schedule with seconds and joules of the cost model at every
clock; `clocks` asks `solvers.operations` for the least energy at equal time, `capped` for the least
time under a limit on power at every moment. Begin with `clocks`.
"""
