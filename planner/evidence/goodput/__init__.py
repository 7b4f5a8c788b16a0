"""Goodput held against simulated runs, against sites left out and against published runs.

`simulation` runs many jobs at once, `gaps` draws the seconds between failures, `strip` tells one
run; `said` has what published runs say, `published` what is predicted of them; `table` has what
`planner validate --what goodput` prints. Begin with `table`.
"""
