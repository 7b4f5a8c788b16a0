"""Files for people: reports, self-contained pages, notebooks, pictures and fronts on disk.

`sections` says what a report has, `blocks` is its data, `page` makes HTML that works offline.
Imports `charts`, `drawing` and `tables`. Begin with `page`.
"""
