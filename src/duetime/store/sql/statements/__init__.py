"""SQL files compiled for a dialect, and parameters that hold many rows."""
