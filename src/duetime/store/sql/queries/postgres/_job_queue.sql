(CAST(substring(a.record FROM '"queue": ?' || {{json_string}}) AS json) #>> '{}')
