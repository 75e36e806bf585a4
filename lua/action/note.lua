#!lua flags=allow-oom
-- Adds an entry to the action log: an action that begins, or the end of one.
-- Transition: none
-- KEYS[1] the action log, a stream
-- ARGV[1] about how many entries are kept
-- ARGV[2..] fields and values: by, via, action, subject, kind, id, count, of (the entry of its begin)
-- Returns the id of the entry. Repeated: adds it again, and a reader shows an end once for each begin.
local actions = KEYS[1]
return redis.call('XADD', actions, 'MAXLEN', '~', ARGV[1], '*', unpack(ARGV, 2))
