"""Administration of campaigns and tokens: in a database, or at a collector's address.

Both have the methods of `noutput.collector.administration.interface.Administration`, and answer
with what the routes of a collector answer.
"""
