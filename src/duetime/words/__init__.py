"""What duetime says to people in each language: rules, notes, reasons, checks, names, errors."""
