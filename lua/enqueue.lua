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
-- ARGV[1] '1' where a job has options, '' where all are plain
-- ARGV[2..] of plain jobs, for those of one name: the name, how many follow; for each: id, payload (JSON); then the next
--   name. Else for each job: id, name, payload, options ('' for a plain one, else JSON: delay_ms, run_at_ms, priority,
--   max_attempts, max_crashes, expires_in_ms, unique, unique_for, unique_replace, request, worker)
-- Returns, for each job that is not simply new: its index (from 1), exists | kept | replace, the id that stands.
-- Repeated: a known id adds nothing. For an id chosen by the caller, options.request tells a repeat from a conflict.
--   A replacement leaves no id of its own, so it is remembered for ten minutes.
local job, pending, prioritized, scheduled, wake = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local stats, sequence, unique, windows, replaced = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local memory_ms = 600000
--@include lib/clock
--@include lib/write_job
local plain, answers, added, claimable = {}, {}, 0, false

if ARGV[1] == '' then
  local at = 2
  while at <= #ARGV do
    local name, last = ARGV[at], at + 1 + 2 * tonumber(ARGV[at + 1])
    for i = at + 2, last, 2 do
      local id = ARGV[i]
      if redis.call('EXISTS', job .. id) == 0 then
        write_job(id, name, ARGV[i + 1])
        added = added + 1
        plain[#plain + 1] = id
      end
    end
    at = last + 1
  end
else
  -- Included here, and not above, so that plain jobs do not pay for what they do not use.
--@include lib/rank
--@include lib/unique
--@include lib/take_out
--@include lib/options
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

--@include lib/replace
  for i = 2, #ARGV, 4 do
    local id, name, payload = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local options = ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
    local verdict, standing
    if redis.call('EXISTS', job .. id) == 1 then
      local repeated = not (options and options.request) or redis.call('HGET', job .. id, 'request') == options.request
      verdict, standing = repeated and 'repeated' or 'exists', id
    elseif options and options.unique then
      standing = options.unique_replace and replaced_before(id, options)
      if standing then
        verdict = 'replace'
      else
        verdict, standing = resolve_unique(options)
        verdict = verdict == 'replace' and replace(standing, id, name, payload, options) or verdict
      end
    end
    if not verdict then
      write_job(id, name, payload)
      added = added + 1
      if options then
        write_options(job .. id, options)
        own_unique(id, options)
        place(id, options)
      else
        plain[#plain + 1] = id
      end
    elseif verdict ~= 'repeated' then
      answers[#answers + 1], answers[#answers + 2], answers[#answers + 3] = (i + 2) / 4, verdict, standing
    end
  end
end
if #plain > 0 then
  redis.call('LPUSH', pending, unpack(plain))
  claimable = true
end
if added > 0 then
  redis.call('HINCRBY', stats, 'enqueued_total', string.format('%d', added))
end
if claimable then
  redis.call('ZADD', wake, '0', '1')
end
return answers
