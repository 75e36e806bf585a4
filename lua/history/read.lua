#!lua flags=no-writes,allow-oom
-- Reads a slice of the history.
-- KEYS[1] history_open   hash; its fields since_ms (start of the recording), at_ms (last closed minute) and the
--   counters of that time are read
-- KEYS[2] history        stream, an entry for each minute
-- KEYS[3] history_marks  stream, deploys, outages and dead workers
-- ARGV[1] how far back the first slice begins, in ms
-- ARGV[2] the entry after which a further slice continues, '' for the first
-- ARGV[3] the most entries of a slice
-- ARGV[4] how far back the slices end, in ms; '' to read up to now
-- Returns now, since_ms and at_ms ('' for none), the entries, and with the first slice the last marks, the latest first.
--   Then the counters enqueued, completed, failed and cancelled of the last closed minute, '' for none. Repeated: reads again.
--@include lib/core/clock
local open, history, marks = KEYS[1], KEYS[2], KEYS[3]
local back, after, most = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local from = string.format('%.0f', now - back)
local to = ARGV[4] == '' and '+' or string.format('%.0f', now - tonumber(ARGV[4]))
local since, at, enqueued, completed, failed, cancelled =
  unpack(redis.call('HMGET', open, 'since_ms', 'at_ms', 'enqueued', 'completed', 'failed', 'cancelled'))
local entries = redis.call('XRANGE', history, after == '' and from or '(' .. after, to, 'COUNT', most)
local found = after == '' and redis.call('XREVRANGE', marks, to, from, 'COUNT', 1000) or {}
return { now_text, since or '', at or '', entries, found, { enqueued or '', completed or '', failed or '', cancelled or '' } }
