"""The reproduction of the paper: its datasets, scenarios, figures and claims.

A *scenario* says what is run, as plain data (`scenarios`). It is cut into *units*, each a dataset,
a mechanism, an epsilon and a block of runs (`units`), which worker processes compute (`work`) and
a file collects as they come (`unit_file`, `run`). What is stored becomes tidy rows (`results`), and
these become figures, verdicts and a report (`figures`, `claims`, `verdicts`, `readings`, `report`).
Nothing is drawn or decided from anything but the rows.
"""
