r"""Tables for questions with answers: the best one for the worst population, with a proof.

A table has one row per answer. Its error is what privacy adds to the squared error of an unbiased
estimate, in the worst case over all populations, by one of four objectives. The parts are

- `objective`: which error counts;
- `saddle`: the best table and the worst population at once, over all extreme columns;
- `fewer`: fewer outputs;
- `search`: both together;
- `error`: the error of a certified table;
- `certificate`: a lower bound as plain numbers, and its checker, which shares no code with the
  search; `bound` finds the numbers, `relaxation` those for more than 16 answers;
- `document`, `result`: the design as JSON, and as an object;
- `shipped`: the catalog;
- `request`: from a question to a design.
"""
