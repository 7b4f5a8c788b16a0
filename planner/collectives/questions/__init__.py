"""The questions of `planner collective`, one module each, and the records of their answers.

`question` reads what was typed, `answers` holds what is answered; `fronts`, `bounds`, `comparison`,
`simulation`, `export` and `systems` answer. This is the top of `planner.collectives`: it imports
the other packages of the room. Begin with `question`.
"""
