"""Health: what is measured, what a diagnosis finds, and how it is judged."""
