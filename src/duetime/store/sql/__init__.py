"""The SQL stores: each verb is one flow for all of them, its statements are `.sql` files."""
