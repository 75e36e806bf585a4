#!lua flags=allow-oom
-- Ends the keeping of records of ended jobs that nobody waits to read any more. Its waiting jobs have ended, and the time
-- of its waiting callers is over. A dead letter counts as waiting, because it reads the record if it is redriven. A
-- record that is still needed is looked at again. The interval grows with its age. So a process that dies between its
-- calls leaves the record for the next look.
-- Transition: none
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..10]: retention and limits, see lib/retention/retention_args
-- ARGV[11] the most records to look at
-- ARGV[12..] ids of records whose waiting jobs in other queues have ended, as the last look returned them
-- Returns more (1 if it used up its limit), then for each record that only jobs of other queues wait for: id, then these
--   jobs, each queue, tab, id on a line.
-- Repeated: looks at the next.
--@include lib/core/keys
--@include lib/retention/retention_args
--@include lib/core/clock
--@include lib/core/read
--@include lib/settle/lifetime
--@include lib/after/dependents
local limit, most_refs = tonumber(ARGV[first]), 2000
local soonest, latest, most_read = 30000, 600000, 10000
local waits = { pending = true, scheduled = true, processing = true, failed = true }
local lists = { completed = completed, cancelled = cancelled }
local due = redis.call('ZRANGE', kept_results, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
local reply, refs = { #due == limit and 1 or 0 }, 0

-- Returns whether a job has left its history. A long history is read in part. A job behind that part counts as in it: it
-- keeps its lifetime, which the history shortens if the job leaves it.
local function has_left(list, id)
  return not redis.call('LPOS', list, id, 'MAXLEN', most_read) and redis.call('LLEN', list) <= most_read
end

-- Gives a record its lifetime back, evicted_ttl at least. Like any record, it lives only that long if its job has left the
-- history.
local function let_go(id, status, ended_at, options)
  local lasts_until = has_left(lists[status], id) and 0 or ended_at + lifetime_of(status, options, id)
  redis.call('ZREM', kept_results, id)
  redis.call('PEXPIREAT', job .. id, string.format('%d', math.max(lasts_until, now + evicted_ttl)))
end

-- Returns whether a job here still waits, and those of other queues.
local function waiting_of(dependents)
  local elsewhere = {}
  for waiting in string.gmatch(dependents or '', '[^\n]+') do
    if string.find(waiting, '\t', 1, true) then
      elsewhere[#elsewhere + 1] = waiting
    elseif waiting ~= callers and waits[read(job .. waiting, 'status')[1]] then
      return true, elsewhere
    end
  end
  return false, elsewhere
end

-- Looks at one record. is_read: its waiting jobs in other queues have ended.
local function look(id, is_read)
  local status, dependents, completed_at, cancelled_at, awaited_until, options = unpack(read(job .. id, 'status', 'dependents',
    'completed_at_ms', 'cancelled_at_ms', 'awaited_until_ms', 'options'))
  if not lists[status] or redis.call('PTTL', job .. id) ~= -1 then
    redis.call('ZREM', kept_results, id) -- it runs again, or is gone
    return
  end
  local ended_at = tonumber(status == 'completed' and completed_at or cancelled_at) or now
  local is_needed, elsewhere = waiting_of(dependents)
  is_needed = is_needed or (tonumber(awaited_until or nil) or 0) > now
  if not is_needed and (is_read or #elsewhere == 0) then
    return let_go(id, status, ended_at, options)
  end
  local again = now + math.max(soonest, math.min(latest, now - ended_at))
  redis.call('ZADD', kept_results, string.format('%d', again), id)
  if not is_needed and #elsewhere > 0 then
    refs = refs + #elsewhere
    reply[#reply + 1], reply[#reply + 2] = id, table.concat(elsewhere, '\n')
  end
end

for i = first + 1, #ARGV do
  if redis.call('ZSCORE', kept_results, ARGV[i]) then
    look(ARGV[i], true)
  end
end
for i = 1, #due do
  if refs >= most_refs then
    reply[1] = 1
    break
  end
  if redis.call('ZSCORE', kept_results, due[i]) then
    look(due[i], false)
  end
end
return reply
