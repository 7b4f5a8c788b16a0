"""Answers of each space of plans: what its search found, put into the parts of an answer.

`uniform`, `uneven`, `pools` and `machines` each supply `planner.answers.building` with their plan,
front and certificate. Imports what answers may import. Begin with `uniform`.
"""
