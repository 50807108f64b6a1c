"""Campaigns: what a device needs to answer one, and the form in which answers travel.

Neither numpy nor scipy nor a web framework is loaded, and nothing that speaks HTTP before
`fetch_campaign` or `send_report` is first used.
"""
