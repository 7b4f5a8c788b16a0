"""What the planner shows in a browser: the form of a question, and answers as parts of a page.

The functions return plain dictionaries, which a web worker passes on as JSON. The page itself is in
the folder `web` of the repository, which `python web/build.py` builds; `serving` hands it out on
this machine. Imports `report` and what lies below. Begin at `form.form` and `answers.Answers`.
"""
