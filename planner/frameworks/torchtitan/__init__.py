"""torchtitan: its rules per version, TOML and overrides and recipes, and launches read back.

`rules` and `versions` say what it runs, `write` and `settings` make files, `read` takes a launch. A
new version begins in `versions`. Imports what frameworks share.
"""
