"""Settings of torchtitan read as a job and a plan: text, names, defaults, pipeline stages.

`names` lists every setting, `registry` the configurations that `--config` names. A new setting is a
line of `names`. Used by `planner.frameworks.torchtitan.read`.
"""
