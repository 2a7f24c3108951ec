"""`python -m duetime.cli` is `duetime`."""

from duetime.cli.main import main

main()
