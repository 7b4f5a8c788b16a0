"""Shell text filled in without running it.

`words` takes it apart, `blocks` finds what `if`, `case`, loops and functions hold, `values` fills
in variables, `conditions` says which tests hold, and `run` goes through. Begin with `run`.
"""
