#!lua flags=allow-oom,allow-cross-slot-keys
-- Notes that maintenance has found no work in these queues. Moves on the open minutes of their histories, as
-- lua/history/close-minute does for a minute without counts.
-- Transition: none
-- KEYS: for each queue its sweep (hash, the sweep's memory), stats (hash, the counters) and history_open (hash, data of
--   the next entry); in a Cluster see lib/slots/take_keys
-- ARGV[1] the interval of the caller's maintenance in ms
-- ARGV[2] the gap that is an outage in ms, see lua/history/close-minute
-- ARGV[3] how long the history is kept, in ms
-- ARGV[4..] for each queue '1' if it keeps a history, else '0'
-- Returns the positions, from 1, of the queues whose minute the caller must close: it has counts, or an outage ended in it.
--   Repeated: the same.
--@include lib/core/clock
local keys, every, gap, kept = KEYS, ARGV[1], tonumber(ARGV[2]), ARGV[3]
--@cluster lib/slots/take_keys
local counters, totals, reply = { 'enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed' }, {}, {}
for i, name in ipairs(counters) do
  totals[i] = name .. '_total'
end

-- Begins a history: the counts of its first minute start from these totals.
local function begin(stats, open)
  local fields = { 'at_ms', now_text, 'since_ms', now_text }
  for i, total in ipairs(redis.call('HMGET', stats, unpack(totals))) do
    fields[#fields + 1], fields[#fields + 2] = counters[i], total or '0'
  end
  redis.call('HSET', open, unpack(fields))
  redis.call('PEXPIRE', open, kept)
end

local function has_counts(stats, known)
  for i, total in ipairs(redis.call('HMGET', stats, unpack(totals))) do
    if not known[i] or tonumber(total or 0) ~= tonumber(known[i]) then
      return true
    end
  end
  return false
end

-- Returns whether the caller must close the minute. Else the next entry covers the time from now on.
local function is_to_close(sweep, stats, open)
  local known = redis.call('HMGET', open, 'at_ms', unpack(counters))
  local at = tonumber(table.remove(known, 1) or nil)
  if not at then
    if redis.call('EXISTS', sweep, stats) > 0 then -- a queue that nobody uses has neither, and must get no key
      begin(stats, open)
    end
  elseif now - at > gap or at > now or has_counts(stats, known) then
    return true
  elseif now - at > 100000 then -- not each minute, because it costs a write
    redis.call('HSET', open, 'at_ms', now_text)
    if math.floor(now / 60000) % 30 < 2 then
      redis.call('PEXPIRE', open, kept)
    end
  end
  return false
end

for i = 4, #ARGV do
  local first = (i - 4) * 3
  if redis.call('EXISTS', keys[first + 1]) == 1 then
    redis.call('HSET', keys[first + 1], 'maintained_at_ms', now_text, 'every_ms', every)
  end
  if ARGV[i] == '1' and is_to_close(keys[first + 1], keys[first + 2], keys[first + 3]) then
    reply[#reply + 1] = i - 3
  end
end
return reply
