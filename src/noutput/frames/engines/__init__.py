"""One thin adapter an engine: batches of Arrow columns out of its frames and reports back in.

Every adapter has one function, `privatize(frame, recipe, names, keep, ...)`. It returns a frame
of the same kind with the kept columns and, under the given names, one column of reports for each
column of the recipe.
"""
