"""Who sends a request: credentials, addresses, and the limit of failures."""
