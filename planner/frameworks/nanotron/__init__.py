"""nanotron: its rules, and its YAML configuration with the command.

Change `rules` where nanotron runs other plans than before, `write` for keys of its configuration.
Imports what frameworks share. Begin with `rules`.
"""
