(CAST(substring(a.record FROM '"kind": ?' || {{json_string}}) AS json) #>> '{}')
