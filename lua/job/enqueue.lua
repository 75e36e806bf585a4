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
-- KEYS[17] ended_ids   sorted set
-- KEYS[18] kept_results sorted set
-- and if an event reports new jobs:
-- KEYS[19] events      channel
-- ARGV[1..] of plain jobs, for each name: the name, how many follow, and for each: id, payload (JSON). For jobs with
--   the same metadata and no other option the number is negative, followed by their stored options.
--   Else for each job: id, name, payload, options ('' for a plain one, else JSON)
--   options: delay_ms, run_at_ms, priority, cost, group, max_attempts, max_crashes, expires_in_ms, unique, unique_for,
--     unique_replace, request, worker, batch, added_by, was_member, after, lifo, group_limits, and the
--     producer's max_pending and max_pending_bytes of each group
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
  remote_members, awaiting, groups, sweep, ended_ids, kept_results, events = unpack(KEYS)
local memory_ms = 600000
--@include lib/core/clock
--@include lib/core/write_job
local plain, replies, added, claimable = { nil }, {}, 0, false -- nil: room for one

if not prioritized then
--@include lib/enqueue/add_plain
else
  -- Included here, and not above, so that plain jobs do not pay for it.
--@include lib/enqueue/add_all
end
return #replies > 0 and replies or nil
