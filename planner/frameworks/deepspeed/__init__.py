"""DeepSpeed: its rules, its JSON configuration with a training script, and launches read back.

`rules` and `models` say what it runs, `write` and `script` make files, `read` takes a launch with
the settings of `names` and their `effects`. Imports what frameworks share. Begin with `rules`.
"""
