"""Topologies side by side under one traffic: hops, bisection, loads, energy and price.

`asking` reads the question, `measuring` makes one row. Imports `planner.network.topology`. Begin
with `asking`.
"""
