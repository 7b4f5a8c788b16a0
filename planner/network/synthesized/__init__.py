"""Collectives synthesized for one domain of chips: their tables, and what they cost.

`tables` says what a table holds and which groups it serves, `costs` makes one line of seconds over
bytes per schedule. Tables are made in `planner.collectives.tables`. Imports the groups and domains
of `planner.network`. Begin with `tables`.
"""
