"""Machines on which collectives run: named ones, graph files, slow links, switches contracted.

`machines` reads a name or a file and returns `machine.Machine`, all that the solvers see. A new
machine by name is an entry of `named`. Imports `planner.network` and `solvers.collectives`.
"""
