"""The search over machines: PEs per chip, wirings, number of chips and plan decided together.

`machines` lists what the budgets allow, `joint` finds the best of them with its proof. Imports the
search over uniform plans. Begin with `joint`.
"""
