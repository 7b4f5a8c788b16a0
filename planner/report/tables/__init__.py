"""Answers as tables in a terminal, made with Rich.

There is one file per answer or part of one; `tables` has the building blocks and `fitted` makes a
table fit the screen. Imports `results` and the records of studies. Begin with `terminal`.
"""
