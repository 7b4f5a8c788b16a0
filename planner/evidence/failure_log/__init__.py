"""How often the chips of a cluster fail, from its own log.

`reading` has the form of the log; begin there. `result` counts and writes what `--failure-site`
takes.
"""
