"""How pages write values, in each language: pure functions of values."""
