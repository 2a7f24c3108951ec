"""The store's verbs as flows of `.sql` statements, each written once for all SQL stores."""
