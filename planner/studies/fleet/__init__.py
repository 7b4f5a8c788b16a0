"""Jobs that share clusters: which plan each takes, on how many chips, where and when.

`form` is the file, `question` what is checked of it, `choices` the plans that each job may take,
`program` the arrays that `solvers.fleet` solves, `planning` the way from one to the other, `late`
and `impossible` say why, `answer` has the records. Imports `search` and what lies below. Begin with
`planning`.
"""
