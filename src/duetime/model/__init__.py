"""Pure values and decisions: no I/O, and no clock except those passed in."""
