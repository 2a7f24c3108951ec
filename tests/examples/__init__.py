"""The example applications: their pages, their tests, and their types."""
