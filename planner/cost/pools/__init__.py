"""Plans whose pipeline runs over pools of different chips: one cost model per pool, joined.

`pools` says which stage is where and what crosses between pools, `evaluate` costs such a plan.
Imports the rest of `planner.cost`. Begin with `evaluate`.
"""
