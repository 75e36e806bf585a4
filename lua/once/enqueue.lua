#!lua
-- Adds jobs that a sender keeps elsewhere, such as rows of a database, each once: nothing -> pending, prioritized or
--   scheduled. The key of each entry is marked in the step that adds its job. The sender deletes its entry after the
--   reply, and then its mark by once/forget. So a sender that dies in between adds nothing twice, however long ago
--   the job has ended. The fence grows with each sender that takes over. A sender that stalled meanwhile is refused.
-- Transition: enqueue
-- KEYS[1] job          prefix of the job hashes
-- KEYS[2] pending      list
-- KEYS[3] wake         sorted set
-- KEYS[4] stats        hash
-- KEYS[5] settings     hash
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
-- KEYS[19] events      channel
-- KEYS[20] once_fences hash: the largest fence of each source
-- KEYS[21] once        sorted set: the marks of this source
-- ARGV[1] source       the name of what the senders share
-- ARGV[2] fence        of this sender, an integer
-- ARGV[3] max_pending, ARGV[4] max_pending_bytes ('' for no bound)
-- ARGV[5] publish      listened, always, off
-- ARGV[6..] for each entry: its key, then id, name, payload and options of its job, as in job/enqueue. Options may
--   have two fields more. ran: the attempts, errors and crashes that the job had elsewhere. must_be_new: an entry whose
--   id is known gets no mark, because its sender keeps it.
-- Returns nil if each job is new. Else stale and the larger fence of another sender: nothing was done.
--   Else, for each entry that is not simply new: its index (from 1), a verdict, a text, a name ('' for none).
--   known: the key is marked, and nothing was done. held: an earlier entry of the same group was not added.
--   broken: the content of the entry raised this error, and nothing is left of it.
--   The verdicts of job/enqueue for one job. A job that is refused or meets a bound gets no mark.
--   An error is returned, and not raised, if nothing was written because a key has a wrong type.
-- Repeated: a marked key adds nothing.
local job, pending, wake, stats, settings, prioritized, scheduled, sequence, unique, unique_expiries, replaced, batch_record,
  remote_members, awaiting, groups, sweep, ended_ids, kept_results, events, once_fences, once = unpack(KEYS)
local source, fence, max_pending, max_pending_bytes, publish = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local memory_ms = 600000
--@include lib/core/clock
--@include lib/core/write_job
local plain, replies, marks, marked, added, claimable = {}, {}, {}, {}, 0, false
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
--@include lib/once/add_entry

local keys, asked = {}, {}
for at = 6, #ARGV, 5 do
  keys[#keys + 1], asked[#asked + 1] = ARGV[at], ARGV[at + 4] ~= '' and cjson.decode(ARGV[at + 4])
end
local known = #keys > 0 and redis.call('ZMSCORE', once, unpack(keys)) or {}
local failure = check_keys(asked)
if failure then
  return failure
end
--@include lib/once/begin_sending
for i = 1, #keys do
  if known[i] or marked[keys[i]] then
    reply(i, 'known')
  else
    try_entry(i, 1 + 5 * i, asked[i])
  end
end
if #marks > 0 then
  redis.call('ZADD', once, unpack(marks))
end
--@include lib/enqueue/place_added
return #replies > 0 and replies or nil
