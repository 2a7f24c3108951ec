"""Pure values and decisions: no I/O, no clock but the one passed in."""
