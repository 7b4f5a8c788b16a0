"""Why one answer of `planner solve` is another than an older one.

`answer_changes` reads both and says in which fields they differ, `standing` what the plan of one
costs in the question of the other, `plan_changes` why another plan is best. Begin with
`version_changes`, which says what moved the objective; `two_answers` has what it returns.
"""
