"""Jobs: definitions, edits, ticks, misfires and occurrences."""
