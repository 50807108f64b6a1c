"""Engine adapters: Arrow columns out of the frames and files of an engine, and reports back in.

Every adapter of frames has a function `privatize(frame, recipe, names, keep, ...)`. It returns a
frame of the same kind with the kept columns and, under the given names, one column of reports per
column of the recipe. The engines `arrow`, `duckdb` and `spark` read and write files, too.
"""
