"""Health: figures, database diagnoses, and the checks that judge them."""
