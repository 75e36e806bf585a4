-- never_ms: the due time of a job in scheduled that no time starts: the year 9999.
local never_ms = 253402300799000
