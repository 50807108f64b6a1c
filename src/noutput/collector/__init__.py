"""The collector: takes reports over HTTP, counts each once, and answers with estimates.

`noutput.collector.app.create_app` makes the application and `noutput.collector.store.open_store`
the database under it; `noutput serve` puts both together. What needs a web framework or a
database driver is imported there and nowhere else: the extra ``collector`` brings both.
"""
