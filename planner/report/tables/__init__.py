"""Answers as tables in a terminal, made with Rich.

There is one file per answer or part of one; `tables` has the building blocks and `fitted` makes a
table fit the screen. Imports `results`, the records of studies and, for commands that go on,
`answers`. Begin with `screen`, which is printed first, and `sections`, which has the rest.
"""
