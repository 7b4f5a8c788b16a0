"""Short launches on one or two nodes: which are run, their folder, and what they teach.

`short` shrinks a plan, `folder` is the folder with its manifest and scripts, `measured` reads what
was run, `parts` fits constants to the traces, and `value` says what to measure next. Begin with
`short`.
"""
