-- check_keys(asked): returns the error of a key of a wrong type, before the first write of an enqueue with options. Its jobs
--   must not be left in no place. Returns nil if all keys that these options use are fine. It reads no other key.
-- asked: the options of each job of the call, false for none.
-- Needs: awaiting, ended_ids, groups, kept_results, pending, prioritized, remote_members, scheduled, sequence, stats,
--   unique, unique_expiries, wake, lib/enqueue/queue_settings, lib/group/join, lib/group/line_and_slots,
--   lib/group/scores, lib/group/state.
--@include lib/enqueue/uses_of
local function first_error(...)
  for i = 1, select('#', ...) do
    local answer = select(i, ...)
    if type(answer) == 'table' and answer.err then
      return answer
    end
  end
end

-- Reads what placing the groups asks for, which knows it then. The heads are only written. Few queues have a group in
-- gated, and many none in finishes. If only_joins, a group in turns whose line is not empty needs no look at its slots.
-- Raises an error.
local function read_groups(names, only_joins)
  redis.call('ZCARD', sets.heads.key)
  sets.gated.is_empty = redis.call('ZCARD', sets.gated.key) == 0
  sets.finishes.is_empty = redis.call('ZCARD', sets.finishes.key) == 0
  for i = 1, #names, 500 do
    local slice = { unpack(names, i, math.min(i + 499, #names)) }
    recall_states(slice)
    for _, set in ipairs(sets) do
      if set ~= sets.heads and not set.is_empty then
        recall(set, slice)
      end
    end
  end
  checked_slots, checked_lines = {}, {}
  for _, name in ipairs(names) do
    checked_lines[name] = redis.call('ZCARD', groups .. 'waiting:' .. name)
    if checked_lines[name] == 0 or not (only_joins and sets.turns.scores[name]) then
      checked_slots[name] = redis.call('ZCARD', slots_of(name))
    end
    if read_group(name).max_pending then
      redis.call('ZCARD', groups .. 'later:' .. name)
    end
  end
end

-- Reads the keys of groups that only a job with more options than its group uses. Raises an error.
local function read_other_keys(names)
  redis.call('HLEN', groups .. 'holds')
  redis.call('ZCARD', groups .. 'resting')
  for _, name in ipairs(names) do
    redis.call('HLEN', groups .. 'state:' .. name)
    redis.call('ZCARD', groups .. 'later:' .. name)
  end
end

local function group_error(names, uses)
  local is_read, failure = pcall(read_groups, names, not (uses.prioritized or uses.other_groups))
  if is_read and uses.other_groups then
    is_read, failure = pcall(read_other_keys, names)
  end
  if not is_read then
    return type(failure) == 'table' and failure or { err = failure } -- a text in Redis 7.0
  end
  are_groups_noted = are_groups_noted or queue_settings()[3] ~= false
end

local function batch_error(of_batches)
  for key in pairs(of_batches) do
    local failure = first_error(redis.pcall('HLEN', key), redis.pcall('ZCARD', key .. '/open'), redis.pcall('LLEN', key .. '/members'),
      redis.pcall('HLEN', key .. '/outcomes'))
    if failure then
      return failure
    end
  end
end

local function check_keys(asked)
  local uses, names, of_batches = uses_of(asked)
  local failure = first_error(queue_settings(), redis.pcall('ZCARD', wake), redis.pcall('HLEN', stats),
    uses.pending and redis.pcall('LLEN', pending),
    uses.scheduled and redis.pcall('ZCARD', scheduled), uses.prioritized and redis.pcall('ZCARD', prioritized),
    uses.sequence and redis.pcall('GET', sequence),
    uses.unique and redis.pcall('HLEN', unique), uses.unique and redis.pcall('ZCARD', unique_expiries),
    uses.remote_members and redis.pcall('HLEN', remote_members), uses.awaiting and redis.pcall('ZCARD', awaiting),
    (uses.request or uses.awaiting) and redis.pcall('ZCARD', ended_ids), uses.awaiting and redis.pcall('ZCARD', kept_results))
  return failure or next(of_batches) and batch_error(of_batches) or names[1] and group_error(names, uses) or nil
end
