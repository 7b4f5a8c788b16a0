"""Forms other than the arguments of Megatron-LM that say the same: forks, recipes in YAML and Python.

Each becomes arguments of Megatron-LM, which `planner.frameworks.megatron.read` then reads. Begin
with `forms`.
"""
