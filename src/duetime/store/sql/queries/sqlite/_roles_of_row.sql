-- The roles of a key or session, none if they are no JSON.
SELECT value FROM json_each(
    CASE
        WHEN typeof(x.roles) <> 'text' THEN '[]'
        WHEN NOT json_valid(x.roles) THEN '[]'
        ELSE x.roles
    END
)
