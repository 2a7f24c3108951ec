"""The command line: `duetime --help`."""
