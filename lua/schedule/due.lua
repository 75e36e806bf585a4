#!lua flags=allow-oom
-- Returns the due schedules, and the time until the next one. Schedules that no process declares any more are stopped
-- instead. Also returns a slice of the others. The caller verifies that the clock of now can have made their due times.
-- The last runs of these get their ends, because the records of their jobs may go before the next tick. So do those of
-- some resting schedules, by chance.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] the most schedules to read in this call
-- ARGV[2] how long a declaration lasts, in ms
-- ARGV[3] the first of the others to return, or '' for none
-- Returns now in ms; ms until the next one is due, or -1; 1 if more are due; then for each: id, due time in ms,
--   version, recurrence (JSON). First the due ones, then the others.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/read
--@include lib/schedule/rest
--@include lib/schedule/runs
local limit, declaration_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
local due = redis.call('ZRANGE', schedule_due, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
local others_limit = 20
local reply = { now, -1, #due == 2 * limit and 1 or 0 }
local function add(id, at, version, recurrence)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = id, at, version, recurrence
end

for i = 1, #due, 2 do
  local id, at, key = due[i], due[i + 1], schedule .. due[i]
  local version, recurrence, source = unpack(read(key, 'version', 'recurrence', 'source'))
  if not version then
    redis.call('ZREM', schedule_due, id) -- its hash is gone
    redis.call('ZREM', schedule_owners, id)
  elseif source == 'code' and not is_declared(id, declaration_ms) then
    rest(id, key, at)
  else
    add(id, at, version, recurrence)
  end
end

local function add_others(offset)
  local others = redis.call('ZRANGE', schedule_due, '(' .. now_text, '(+inf', 'BYSCORE', 'LIMIT', offset, others_limit, 'WITHSCORES')
  for i = 1, #others, 2 do
    local version, recurrence, runs = unpack(read(schedule .. others[i], 'version', 'recurrence', 'runs'))
    if version then
      note_ends(others[i], schedule .. others[i], runs)
      add(others[i], others[i + 1], version, recurrence)
    end
  end
end

-- Notes the last ends of schedules that have no next tick, as paused and ended ones.
local function note_ends_of_resting()
  local count = redis.call('ZCOUNT', schedule_due, '+inf', '+inf')
  local first = count > others_limit and tonumber(time[2]) % (count - others_limit + 1) or 0
  for _, id in ipairs(redis.call('ZRANGE', schedule_due, '+inf', '+inf', 'BYSCORE', 'LIMIT', first, others_limit)) do
    note_ends(id, schedule .. id, read(schedule .. id, 'runs')[1])
  end
end

if ARGV[3] ~= '' then
  add_others(tonumber(ARGV[3]))
  note_ends_of_resting()
end
local following = redis.call('ZRANGE', schedule_due, '(' .. now_text, '(+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
if following[2] then
  reply[2] = tonumber(following[2]) - now
end
return reply
