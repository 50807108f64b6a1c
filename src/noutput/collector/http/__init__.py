"""HTTP: the protocol, the guard before all routes, and the routes that read and manage."""
