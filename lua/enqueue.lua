#!lua
-- Adds a batch of jobs: nothing -> pending, prioritized or scheduled. Refused as a whole when Redis is out of memory.
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] prioritized  sorted set
-- KEYS[4] scheduled    sorted set
-- KEYS[5] wake         sorted set
-- KEYS[6] stats        hash
-- KEYS[7] sequence     string
-- KEYS[8] unique       hash
-- KEYS[9] windows      sorted set
-- KEYS[10] replaced    prefix of the memories of replacements
-- ARGV, for each job: id, name, payload (JSON), options ('' for a plain job, else JSON: delay_ms, run_at_ms,
--   priority, max_attempts, max_crashes, expires_in_ms, unique, unique_for, unique_replace, request, worker)
-- Returns, for each job that is not simply new: its index (from 1), exists | kept | replace, the id that stands.
-- Repeated: a known id adds nothing. For an id chosen by the caller, options.request tells a repeat from a conflict.
--   A replacement leaves no id of its own, so it is remembered for ten minutes.
local job, pending, prioritized, scheduled, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local stats, sequence, unique, windows, replaced = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local memory_ms = 600000
--@include lib/clock
--@include lib/rank
--@include lib/unique
--@include lib/take_out
--@include lib/options
local plain, answers, added, claimable = {}, {}, 0, false

local function place(id, options)
  local due = options.run_at_ms or options.delay_ms and now + options.delay_ms
  if due and due > now then
    redis.call('HSET', job .. id, 'status', 'scheduled', 'due_at_ms', due)
    redis.call('ZADD', scheduled, due, id)
    claimable = claimable or redis.call('ZRANGE', scheduled, 0, 0)[1] == id
  elseif options.priority then
    local rank = next_rank(options.priority)
    redis.call('HSET', job .. id, 'rank', rank)
    redis.call('ZADD', prioritized, rank, id)
    claimable = true
  else
    plain[#plain + 1] = id
  end
end

local function leave_place(id)
  if take_out(id) then
    return true
  end
  for i = #plain, 1, -1 do -- a job of this very batch
    if plain[i] == id then
      table.remove(plain, i)
      return true
    end
  end
end

-- The owner keeps its id and starts anew with all that is asked for, also how it holds the key. The fence and the log of
-- its attempts stay, for the repeats of its claims, so it is no plain job.
local function replace(owner, id, name, payload, options)
  local key = job .. owner
  if not leave_place(owner) then
    return 'kept' -- taken by a client of the pattern that has not written its claim yet
  end
  redis.call('HDEL', key, 'options', 'priority', 'rank', 'max_attempts', 'max_crashes', 'expires_at_ms', 'due_at_ms',
    'crashes', 'errors', 'unhandled', 'cancel_requested_at_ms', 'unique', 'unique_for', 'window',
    'progress', 'log', 'snoozes', 'interruptions', 'last_chance', 'held', 'last_error', 'last_error_at_ms')
  redis.call('HSET', key, 'name', name, 'payload', payload, 'status', 'pending', 'attempts', '0', 'claimed_at_ms', 0,
    'ready_at_ms', now_text)
  redis.call('SET', replaced .. (options.request or id), owner, 'PX', memory_ms)
  options.request = nil -- the owner's own stays, for a repeat of its enqueue
  write_options(key, options)
  redis.call('HSETNX', key, 'options', '{}')
  own_unique(owner, options)
  place(owner, options)
  return 'replace'
end

-- The id of the job that this very enqueue has replaced before; by now it may run, or have ended.
local function replaced_before(id, options)
  return redis.call('GET', replaced .. id) or options.request and redis.call('GET', replaced .. options.request)
end

for i = 1, #ARGV, 4 do
  local id, options = ARGV[i], ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
  local key, index = job .. id, (i + 3) / 4
  local verdict, standing
  if redis.call('EXISTS', key) == 1 then
    local repeated = not (options and options.request) or redis.call('HGET', key, 'request') == options.request
    verdict, standing = repeated and 'repeated' or 'exists', id
  elseif options and options.unique then
    standing = options.unique_replace and replaced_before(id, options)
    if standing then
      verdict = 'replace'
    else
      verdict, standing = resolve_unique(options)
      verdict = verdict == 'replace' and replace(standing, id, ARGV[i + 1], ARGV[i + 2], options) or verdict
    end
  end
  if not verdict then
    redis.call('HSET', key, 'id', id, 'name', ARGV[i + 1], 'payload', ARGV[i + 2], 'status', 'pending',
      'attempts', '0', 'enqueued_at_ms', now_text, 'claim_token', '')
    added = added + 1
    if options then
      write_options(key, options)
      own_unique(id, options)
      place(id, options)
    else
      plain[#plain + 1] = id
    end
  elseif verdict ~= 'repeated' then
    answers[#answers + 1], answers[#answers + 2], answers[#answers + 3] = index, verdict, standing
  end
end
if #plain > 0 then
  redis.call('LPUSH', pending, unpack(plain))
  claimable = true
end
if added > 0 then
  redis.call('HINCRBY', stats, 'enqueued_total', added)
end
if claimable then
  redis.call('ZADD', wake, 0, '1')
end
return answers
