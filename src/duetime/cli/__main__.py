"""`python -m duetime.cli` runs the same command as `duetime`."""

from duetime.cli.main import main

main()
