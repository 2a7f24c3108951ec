"""Compile `.sql` files for a dialect, and encode many rows as statement parameters."""
