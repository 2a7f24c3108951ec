"""The PostgreSQL store: connections, pools, prepared statements and NOTIFY."""
