"""Actions: their records, claims, completions, outcomes and retries."""
