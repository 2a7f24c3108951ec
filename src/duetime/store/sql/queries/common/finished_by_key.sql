-- The newest finished action of each tenant that had a key. Indexes: key, where there is one; kind.
{{finished_by_key}}
