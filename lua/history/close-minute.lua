#!lua
-- Closes the last minute. Its entry has the increase of the counters since the last entry, the workers' times, and the
-- caller's depths. The first replica in a new minute closes the old one; the others change nothing. If no replica came
-- for some minutes, one entry covers them all. A longer gap is an outage. An idle minute has no entry. Entries of a
-- clock that was ahead are forgotten.
-- Transition: none
-- KEYS[1] stats          hash, the counters
-- KEYS[2] history_open   hash, data of the next entry
--   at_ms and the counters of the last one, `w{bucket}`, `r{bucket}`, and `v:{version}` with the time when a version was
--     last seen
-- KEYS[3] history        stream, an entry for each minute; its id is the end of the minute
-- KEYS[4] history_marks  stream, deploys, outages and dead workers
-- ARGV[1] pending, ARGV[2] processing, in jobs
-- ARGV[3] age of the oldest pending job in ms; all three '' only asks for the time
-- ARGV[4] version of the caller's app, '' for none; ARGV[5] the gap that is an outage, in ms
-- ARGV[6] how long the history is kept, in ms; ARGV[7] '1' to begin none, as for a queue that was purged with all its keys
-- Returns the ms until the open minute is over, or 0 to a caller that only asks while the last one is not closed.
--   Repeated: changes nothing.
--@include lib/core/clock
local stats, open, history, marks = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local version, gap, keep = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local minute = now - now % 60000
local oldest_kept = string.format('%.0f', now - keep)
if ARGV[7] == '1' and redis.call('EXISTS', open) == 0 then
  return minute + 60000 - now
end
local COUNTERS = { 'enqueued', 'completed', 'failed', 'cancelled', 'retried', 'reclaimed' }

local function mark(...)
  redis.call('XADD', marks, 'MINID', '~', oldest_kept, now_text .. '-*', ...)
  redis.call('PEXPIRE', marks, keep)
end

-- Marks the first minute of a version. Two versions that run side by side in a deploy are each marked once.
local function see_version()
  local seen = tonumber(redis.call('HGET', open, 'v:' .. version) or 0)
  if seen < now - 600000 then
    mark('kind', 'deploy', 'version', version)
  end
  redis.call('HSET', open, 'v:' .. version, now_text)
  redis.call('PEXPIRE', open, keep)
end

--@include lib/history/figures

-- Writes a stream again without the entries that are later than now. A stream refuses ids that do not grow.
local function forget_later(stream)
  local kept = redis.call('XRANGE', stream, '-', now_text)
  redis.call('UNLINK', stream)
  for _, entry in ipairs(kept) do
    redis.call('XADD', stream, entry[1], unpack(entry[2]))
  end
  redis.call('PEXPIRE', stream, keep)
end

local last = tonumber(redis.call('HGET', open, 'at_ms') or 0)
if last > now + 60000 then
  forget_later(history)
  forget_later(marks)
  last = minute
  redis.call('HSET', open, 'at_ms', string.format('%.0f', minute))
end
if version ~= '' then
  see_version()
end
if last < minute and ARGV[1] == '' then
  return 0
end
if last < minute then
  local fields, taken = redis.call('HGETALL', open), {}
  local wait, run = take_times(fields, 'w', taken), take_times(fields, 'r', taken)
  local gains, sum = gained()
  if last == 0 then
    redis.call('HSET', open, 'since_ms', now_text)
  elseif sum > 0 or #wait > 0 or #run > 0 or tonumber(ARGV[1]) + tonumber(ARGV[2]) > 0 then
    local span = math.max(1, (minute - (last - last % 60000)) / 60000)
    redis.call('XADD', history, 'MINID', '~', oldest_kept, string.format('%.0f', minute), 's',
      string.format('%.0f', span), 'n', gains, 'd', ARGV[1] .. ',' .. ARGV[2] .. ',' .. ARGV[3], 'w', wait, 'r', run)
    redis.call('PEXPIRE', history, keep)
  end
  if last > 0 and now - last > gap then
    mark('kind', 'outage', 'from', string.format('%.0f', last))
  end
  for _, field in ipairs(taken) do
    redis.call('HDEL', open, field)
  end
  redis.call('HSET', open, 'at_ms', now_text)
  redis.call('PEXPIRE', open, keep)
end
return minute + 60000 - now
