"""What if: fields of the records and assumptions of a question that are changed for it.

`texts` reads `PATH=VALUE`, `leaves` lists what may be changed, from the records' own schemas,
`changes` finds the fields, `changed` is what then differs. `planner.question.resolved` loads
records with it. Begin with `changes`.
"""
