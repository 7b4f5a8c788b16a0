"""Files that hold questions and plans: plan files, explicit stages, fronts.

`plan_models` says what a plan file may hold, `plan_file` reads it, `plan_text` writes it. A new
field of a plan file is one of `plan_models`. Begin there.
"""
