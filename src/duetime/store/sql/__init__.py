"""The SQL stores: every verb once as a flow, its statements as `.sql` files."""
