"""Declarations of an app (handlers, jobs, dependencies), and the runtime of verbs and workers."""
