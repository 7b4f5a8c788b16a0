"""Measured training runs: rows of a CSV file, checked, as plans with their job and cluster.

`reading` reads, `checking` refuses, `rows` makes the plan, `profiles` says which software a run
used. Begin with `rows`.
"""
