"""Events: their types, the subscribers of this process, and the outbox of durable subscribers."""
