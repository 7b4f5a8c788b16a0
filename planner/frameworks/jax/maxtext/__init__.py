"""MaxText: its rules, and a YAML file over its base.yml with the command that trains with it.

`rules` says what it runs, with `batch`, `shards` and `kernels` for single subjects; `write` makes
the file with `model` and `attention`. Imports JAX's rules and what frameworks share.
"""
