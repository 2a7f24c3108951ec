"""Parts of the store contract, one noun per file; `store.base.Store` inherits them all."""
