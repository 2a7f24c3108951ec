"""Every store verb once, as a flow over the SQL files."""
