"""Search: the space of plans, its separable cost tables, the exact optimum and front.

`uniform`, `uneven`, `pools` and `machines` are the spaces; `driver` goes through each of them, and
what they share is beside it. Every optimum has a proved bound. Costs come from `planner.cost`,
exact algorithms from `solvers`, rules from `frameworks`. Imports `results` and what lies below.
Begin with `space`.
"""
