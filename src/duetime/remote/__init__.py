"""The verbs of an app over HTTP: what `Duetime.connect` returns."""
