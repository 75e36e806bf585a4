#!lua
-- Adds a batch of jobs: nothing -> pending, prioritized or scheduled. Refuses all of them if Redis is out of memory.
-- Also if one would expire before its start, cannot join its batch, or cannot wait for its after.
-- Transition: enqueue
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] wake         sorted set
-- KEYS[4] stats        hash
-- KEYS[5] settings     hash
-- and if a job has options, which plain ones do not pay for:
-- KEYS[6] prioritized  sorted set
-- KEYS[7] scheduled    sorted set
-- KEYS[8] sequence     string
-- KEYS[9] unique       hash
-- KEYS[10] unique_expiries      sorted set
-- KEYS[11] replaced    prefix of the memories of replacements
-- KEYS[12] batch_record  prefix of the batches with a follow-up
-- KEYS[13] remote_members hash
-- KEYS[14] awaiting    sorted set
-- KEYS[15] groups      prefix of the keys of groups
-- KEYS[16] sweep       hash
-- and if an event reports new jobs:
-- KEYS[17] events      channel
-- ARGV[1..] of plain jobs, for each name: the name, how many follow, and for each: id, payload (JSON). For jobs with
--   the same metadata and no other option the number is negative, followed by their stored options.
--   Else for each job: id, name, payload, options ('' for a plain one, else JSON)
--   options: delay_ms, run_at_ms, priority, cost, group, max_attempts, max_crashes, expires_in_ms, unique, unique_for,
--     unique_replace, request, worker, batch, added_by, was_member, after, lifo, group_limits
--   and at the end, with bounds or an event: max_pending, max_pending_bytes ('' for no bound), publish (listened,
--     always, off)
-- Returns nil if each job is simply new, because any table is answered beside the client's own buffer. Returns bounded
--   if plain jobs met a bound set at run time: nothing was done, and the call must be sent again with all keys.
--   Else, for each job that is not new: its index (from 1), exists | exists_completed | exists_failed |
--     exists_cancelled | kept | replace, the id of the existing job, its name ('' for none)
--   or if it was not added: its index, full | group_full | full_bytes | group_full_bytes, the bound, its group or ''.
--   If the batch is refused: only the index of a job and its reason
--   refused, the ms until its start, the smaller or equal ms until it expires, ''
--   no-batch | sealed, its batch, ''
--   lost, the member that adds it and whose claim is not current, ''
--   unknown | failed | cancelled | crowded, the id in its after, ''.
--   An error is returned, and not raised, if nothing was written because a key has a wrong type.
-- Repeated: a known id adds nothing. For an id chosen by the caller, options.request distinguishes a repeat from a
--   conflict. A replacement leaves no id of its own, so it is remembered for ten minutes.
local job, pending, wake, stats, settings, prioritized, scheduled, sequence, unique, unique_expiries, replaced, batch_record,
  remote_members, awaiting, groups, sweep, events = unpack(KEYS)
local memory_ms = 600000
--@include lib/core/clock
--@include lib/core/write_job
local plain, replies, added, claimable = { nil }, {}, 0, false -- nil: room for one

if not prioritized then
  -- One command finds out whether the first job is known, and whether the queue has settings. They may include a bound.
  local at, found = 1, #ARGV > 0 and redis.call('EXISTS', job .. ARGV[3], settings) or 0
  if found > 0 then
    found = nil
    local bounds = redis.call('HMGET', settings, 'max_pending', 'max_pending_bytes')
    if bounds[1] or bounds[2] then
      return { 'bounded' }
    end
  end
  while at <= #ARGV do
    local name, number, metadata = ARGV[at], tonumber(ARGV[at + 1]), nil
    local last = at + 1 + 2 * math.abs(number)
    if number < 0 then
      metadata = ARGV[last + 1]
    end
    for i = at + 2, last, 2 do
      local id = ARGV[i]
      if (found or redis.call('EXISTS', job .. id)) == 0 then
        write_job(id, name, ARGV[i + 1], metadata)
        plain[#plain + 1] = id
      end
      found = nil
    end
    at = last + (metadata and 2 or 1)
  end
  added = #plain
  if added > 0 then
--@include lib/enqueue/line_up
  end
else
  -- Included here, and not above, so that plain jobs do not pay for it.
  local asked, last = {}, #ARGV - #ARGV % 4
  local max_pending, max_pending_bytes = tonumber(ARGV[last + 1] or nil), tonumber(ARGV[last + 2] or nil)
  local publish = events and ARGV[last + 3] or 'off'
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
  for i = 1, last, 4 do
    asked[i] = ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
  end
  local failure = check_keys(asked)
  if failure then
    return failure
  end
  for i = 1, last, 4 do
    local reason, about = enqueue_refusal(ARGV[i], asked[i])
    if reason then
      return { (i + 3) / 4, reason, about, '' }
    end
  end
  for i = 1, last, 4 do
    local verdict, detail, name = add_with_options(ARGV[i], ARGV[i + 1], ARGV[i + 2], asked[i])
    if verdict then
      local n = #replies
      replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = (i + 3) / 4, verdict, detail, name or ''
    end
  end
--@include lib/enqueue/place_added
end
return #replies > 0 and replies or nil
