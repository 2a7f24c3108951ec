-- The scheduled or running action of each tenant that holds a key. Index: actions_key.
{{unfinished_by_key}}
