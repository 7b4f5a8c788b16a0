"""The search over machines: PEs per chip, wirings, number of chips and plan decided together.

`machines` lists what the budgets allow, `joint` has one driver go through all of them. Imports the
space of uniform plans. Begin with `joint`.
"""
