"""Ingest: a body of reports becomes ids and cells, which are committed together."""
