-- The roles of a key or session, none if they are not what duetime writes: a list of texts in JSON.
-- They are compared with a pattern, since a cast would fail. NUL is in no text.
SELECT
    json_array_elements_text(
        CASE
            WHEN
                x.roles ~ (
                    '^\[("([^"\\\u0001-\u001f]|\\["\\bfnrt]|\\u00(0[1-9a-f]|1[0-9a-f]))*"'
                    || '(,(?=")|(?=\])))*\]$'
                )
                THEN CAST(x.roles AS json)
            ELSE '[]'
        END
    )
