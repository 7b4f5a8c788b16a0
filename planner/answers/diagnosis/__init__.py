"""Why no plan fits, by how much, and the smallest change that frees one; each remedy is checked.

One `diagnose` asks the reasons of a space in one order; a module per space gives them. Remedies are
those of `planner.search.infeasible`. Begin with `diagnosis`.
"""
