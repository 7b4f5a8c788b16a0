"""What is answered: from a question to the records of `results`, with notes and diagnosis.

`api` has `planner.solve` and `planner.evaluate`; a builder turns what a search found into a result.
`diagnosis` says why no plan fits, `notes` what a user should know, `files` reads results back.
Imports `explanation`, `studies`, `search` and what lies below. Begin with `api`.
"""
