"""Published training runs as plans, and how far the cost model is from their measured times.

`predicting` evaluates, `scores` judges, `targets` says what was aimed at, and
`answer` is what `planner validate` answers. Imports `evidence.runs`,
`evidence.power` and `evidence.left_out`. Begin
with `answer`. It has one file per kind of measurement (`collectives`, `microbench`, `failures`,
`memory`) beside those that judge, so that each can be read alone.
"""
