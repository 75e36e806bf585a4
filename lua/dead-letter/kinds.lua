#!lua flags=no-writes,allow-oom
-- Returns the kinds of error of the dead letters, as they were counted when each job died.
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] error_kinds  hash, kind -> its record, see lib/kind/change_kind
-- KEYS[3] error_marks  hash, kind -> what people said of it, see dead-letter/mark-kind
-- Returns now in ms; then for each kind: its name, its record, the bytes of the payload of the last job of the kind, -1 if
--   that job is no dead letter of this kind any more, and its mark, '' for none. Repeated: reads again.
--@include lib/core/clock
local job, error_kinds, error_marks = unpack(KEYS)
local reply = { now_text }
local kinds = redis.call('HGETALL', error_kinds)
for i = 1, #kinds, 2 do
  local kind, record = kinds[i], kinds[i + 1]
  local key = job .. (string.match(record, '^%d+ %d+ %d+ %d+ %d+ %d+ (.*)$') or '')
  local found = redis.pcall('HGET', key, 'error_kind') == kind and redis.call('HSTRLEN', key, 'payload') or -1
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = kind, record, found
  reply[#reply + 1] = redis.call('HGET', error_marks, kind) or ''
end
return reply
