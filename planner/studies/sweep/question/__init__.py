"""What a study asks: its file, its points, and the keys of their questions.

`study` has the form; `ranges` and `conditions` read values of axes and what leaves points out;
`points` makes the questions, `keys` names them by their contents. Begin with `study`.
"""
