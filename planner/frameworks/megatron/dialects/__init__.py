"""Other forms of the arguments of Megatron-LM: those of forks, and recipes in YAML and Python.

Each becomes arguments of Megatron-LM, which `planner.frameworks.megatron.read` then reads. Begin
with `forms`.
"""
