"""Chips, PEs per chip, topology and strategy for one workload, proved optimal under budgets.

`request` reads, `joint` states an integer problem, `search` proves with CP-SAT, `why` explains.
Imports `rack.model` and `solvers`, never `planner.search`. Begin with `solve`.
"""
