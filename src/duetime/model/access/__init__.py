"""Who may do what: identities, permissions, grants, API keys, one-time links and sessions."""
