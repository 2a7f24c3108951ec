"""The worker: claims due actions, runs their handlers and records how they ended."""
