r"""Privacy of what is published: counts of reports, for people who never see a single report.

A report protects its sender from everybody, with the epsilon of its table. Whoever sees only the
counts of many reports learns much less: privacy amplification by shuffling. This package computes
how much less, for one certified table, as an upper bound in the strict sense.

==============  ==================================================================================
module          step of the proof
==============  ==================================================================================
`law`           the theorem; the law of one term, in whole numbers, rounded up
`tilt`          exponential tilting: errors become relative to delta
`normal`        many reports: normal approximation with the error of Berry and Esseen
`lattice`       fewer reports: one FFT, with bounds for the lattice, wrap-around and rounding
`screening`     pairs of rows that need no closer look
`pairs`         the bound for one pair, and the pairs that may be worse
`search`        epsilon for a delta, and delta for an epsilon, over all pairs of rows
`published`     `published_privacy` and `published_delta`, for users
`inverse`       how many reports, and which report epsilon, a central epsilon needs
`composition`   questions, segments and rounds
==============  ==================================================================================
"""
