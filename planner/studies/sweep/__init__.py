"""Sweeps: one question for very many values of its fields, solved by Dask, kept in SQLite.

`question` has the form of a study and makes its questions and their keys; `store` keeps the
answers, `running` has them solved. `kept` is what is kept of an answer, `columns` what tables and
pictures take from it, `answer` the study as it is read. Begin with `question.study`.
"""
