"""The HTTP surface of an app: identities of requests, routes, pages."""
