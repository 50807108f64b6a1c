"""The pages of a collector: server-rendered, with a little JavaScript on top.

Everything that a page needs is in this folder: nothing is loaded from elsewhere, no script or
style stands inside a page, and the policy that each page is sent with forbids both.
"""
