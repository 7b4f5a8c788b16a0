"""What frameworks print of the steps of a training run: one reader per framework.

`log` says what a reader returns and which steps count, `readers` lists the readers. Imports
`planner.base` alone. Begin with `readers`.
"""
