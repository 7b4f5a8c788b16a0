"""What searches of neighbouring questions share, so that no answer depends on it.

`session` keeps whole searches, bounds of nodes and incumbents; `basis` has the partial plans of a
batch that the others divide, and what bounds them, for questions that differ in their batch alone.
Stands on `uniform`, which is given a session and knows no more of it. Begin with `session`.
"""
