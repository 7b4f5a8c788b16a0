"""What is asked: fields, checks, records by name, defaults, and the question made concrete.

`request` is one record for flags, job files and Python arguments; `resolved` loads its records,
takes its defaults and builds the cost model. A new field begins in `asked`, which has what people
read about each; its type is a line of `request`. Imports `frameworks` and what lies below. Begin
with `request`, then `resolved`.
"""
