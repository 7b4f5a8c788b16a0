"""Layers to pipeline stages: columns of what each device may hold, and exact ways to choose.

There is one file per algorithm or relaxation. `problem` states the stage problem, `solving` picks a
backend, prunes and checks. Imports nothing but `solvers`. Begin with `problem`, then `solving`.
"""
