"""What each picture shows, as data that `planner.report.drawing` draws.

There is one file per picture, and no drawing in it: a chart is a value of `drawing.chart`. A new
picture is a new file here. Begin with `front`.
"""
