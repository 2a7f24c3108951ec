"""The verbs: arguments are checked here, then performed by the store, blocking or awaited."""
