"""What frameworks print of the steps of a training run: one reader per framework.

`log` says what a reader returns and which steps count, `reading` what a reader collects, `readers`
lists the readers, `own` tells the steps of a plan from those of other runs. Begin with `readers`.
"""
