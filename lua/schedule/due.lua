#!lua flags=allow-oom
-- Returns the due schedules, and the time until the next one. Schedules that no process declares any more are stopped
-- instead.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most schedules to read in this call
-- ARGV[2] how long a declaration lasts, in ms
-- Returns now in ms; ms until the next one is due, or -1; 1 if more are due; then for each: id, due time in ms,
--   version, recurrence (JSON).
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/schedule/rest
local limit, declaration_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = redis.call('ZRANGE', schedule_due, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
local reply = { now, -1, #due == 2 * limit and 1 or 0 }
for i = 1, #due, 2 do
  local id, at, key = due[i], due[i + 1], schedule .. due[i]
  local version, recurrence, source = unpack(read(key, 'version', 'recurrence', 'source'))
  if not version then
    redis.call('ZREM', schedule_due, id) -- its hash is gone
    redis.call('ZREM', schedule_owners, id)
  elseif source == 'code' and not is_declared(id, declaration_ms) then
    rest(id, key, at)
  else
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, at, version, recurrence
  end
end
local following = redis.call('ZRANGE', schedule_due, '(' .. now_text, '(+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
if following[2] then
  reply[2] = tonumber(following[2]) - now
end
return reply
