#!lua flags=no-writes,allow-oom
-- Returns the kinds of error of the dead letters, as they were counted when each job died.
-- KEYS: the standard keys, see lib/core/keys
-- Returns now in ms; then for each kind: its name, its record (see lib/kind/change_kind), and the bytes of the payload of
--   the last job of the kind, -1 if that job is no dead letter of this kind any more. Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
local reply = { now_text }
local kinds = redis.call('HGETALL', error_kinds)
for i = 1, #kinds, 2 do
  local kind, record = kinds[i], kinds[i + 1]
  local key = job .. (string.match(record, '^%d+ %d+ %d+ %d+ %d+ %d+ (.*)$') or '')
  local found = redis.pcall('HGET', key, 'error_kind') == kind and redis.call('HSTRLEN', key, 'payload') or -1
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = kind, record, found
end
return reply
