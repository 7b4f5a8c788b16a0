"""The cost model of racks: workloads, machines, plans, and their latency and energy.

`workloads` and `machine` describe, `compute`, `communication` and `loading` cost, `evaluate` adds
up. Imports `planner.cost.chip` and `planner.network`. Begin with `evaluate`.
"""
