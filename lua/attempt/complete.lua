#!lua flags=allow-oom
-- Completes claims: processing -> completed. The hot half of settle; fail and release are the others.
-- Transition: complete
-- KEYS[1] job        prefix of the job hashes
-- KEYS[2] claims     sorted set
-- KEYS[3] completed  list
-- KEYS[4] stats      hash
-- KEYS[5] unique     hash
-- KEYS[6] events     channel
-- and if the queue has limits, or a job is not plain:
-- KEYS[7] wake       sorted set
-- and if a job is not plain, because a batch or other jobs may wait for its end:
-- KEYS[8] scheduled     sorted set
-- KEYS[9] settings      hash
-- KEYS[10] sequence     string
-- KEYS[11] batches      sorted set
-- KEYS[12] batch_record prefix of the batches with a follow-up
-- KEYS[13] remote_members hash
-- KEYS[14] batch_outbox hash
-- KEYS[15] awaiting     sorted set
-- KEYS[16] groups       prefix of the keys of groups
-- KEYS[17] ended_ids    sorted set
-- KEYS[18] kept_results sorted set
-- ARGV[1] completed_history in ids
-- ARGV[2] evicted_ttl in ms
-- ARGV[3] publish (listened, always, off, see lib/core/listened)
-- ARGV[4] result_ttl in ms
-- ARGV[5] remembered_ids, the most ids of ended jobs that are remembered
-- ARGV[6..] for each group of jobs of one claim: its token, their ending, how many follow, and for each: id, fence,
--   result (JSON, or '' for none)
--   ending: plain for first attempts without options, unique key and error
--   own for plain jobs with an id of the caller's; grouped for jobs whose only option is a group; '' for others
--   or JSON if a handler or options ask for more: plain, own, result_ttl_ms instead of ARGV[4]
-- Returns nil if all were completed, because any table is answered beside the client's own buffer.
--   Else the positions (from 1) of lost claims, which are not current and were not completed by this very claim
--   and the negative positions of jobs that others wait for: the call must be repeated for these, with all keys
--   and 0 for each job whose end put something into the outbox for another queue: its own end, or a follow-up of its batch
-- Repeated: the token is empty and the fence equal, so it counts as done and changes nothing. 0 while the outbox has something.
local job, claims, completed, stats, unique, events, wake, scheduled, settings, sequence, batches, batch_record,
  remote_members, batch_outbox, awaiting, groups, ended_ids, kept_results = unpack(KEYS)
local completed_history, evicted_ttl, publish, result_ttl = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
--@include lib/core/clock
--@include lib/core/listened
--@include lib/retention/cut_history
--@include lib/core/count
-- The nils reserve room for one job, because a growing table costs as much again.
local done, done_keys, kept_until_of, done_count = { nil }, { nil }, { nil }, 0
local exceptions, position, left_groups, grouped, owned, kept = {}, 0, nil, nil, nil, nil
local kept_until = string.format('%d', now + result_ttl)
local end_job_with_options, emit_event

local at = 6
while at <= #ARGV do
  local token, ending, last = ARGV[at], ARGV[at + 1], at + 2 + 3 * tonumber(ARGV[at + 2])
  local plain, only_grouped = ending == 'plain', ending == 'grouped'
  local own = ending == 'own'
  local asked = not (plain or only_grouped or own) and ending ~= '' and cjson.decode(ending)
  plain, own = plain or asked and asked.plain, own or asked and asked.own
  local until_then = asked and asked.result_ttl_ms and string.format('%d', now + asked.result_ttl_ms) or kept_until
  for i = at + 3, last, 3 do
    local id, fence, result = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local key = job .. id
    position = position + 1
    -- A plain job has no other fields.
    local found
    if plain or own then
      found = redis.pcall('HMGET', key, 'claim_token', 'dependents')
    elseif only_grouped then
      found = redis.pcall('HMGET', key, 'claim_token', 'dependents', 'group')
    else
      found = redis.pcall('HMGET', key, 'claim_token', 'dependents', 'unique', 'last_error_at_ms', 'batch', 'group',
        'redriven_from', 'request')
    end
    local is_current = token ~= '' and found[1] == token
    if is_current and found[2] and not settings then
      exceptions[#exceptions + 1] = -position -- a plain job that others came to wait for while it ran
    elseif is_current then
      if result == '' then
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text)
      else
        redis.call('HSET', key, 'status', 'completed', 'claim_token', '', 'completed_at_ms', now_text, 'result', result)
      end
      local group = only_grouped and found[3]
      if found[2] or not (plain or only_grouped) then
--@include lib/complete/end_with_options
      end
      if group then
        left_groups, grouped = left_groups or { nil }, grouped or { nil }
        left_groups[#left_groups + 1], grouped[#grouped + 1] = group, id
      end
      done_count = done_count + 1
      done[done_count], done_keys[done_count], kept_until_of[done_count] = id, key, until_then
      if listened then
        if not emit_event then
          -- Included here, so that jobs whose events nobody awaits do not pay for it.
--@include lib/core/emit
          emit_event = emit
        end
        emit_event(id, 'completed', nil, 'result', with_results and result ~= '' and result)
      end
    else
--@include lib/complete/answer_repeat
    end
  end
  at = last + 1
end
if done_count > 0 then
--@include lib/complete/leave_claims
end
return #exceptions > 0 and exceptions or nil
