-- check_keys(asked): returns the error of a key of a wrong type, before the first write of an enqueue with options. Its jobs
--   must not be left in no place. Returns nil if all keys that these options use are fine. It reads no other key.
-- asked: the options of each job of the call, false for none.
-- Needs: awaiting, batch_guests, batch_record, groups, job, pending, prioritized, scheduled, sequence, settings, stats,
--   unique, unique_expiries, wake, lib/group/ends, lib/group/scores, lib/group/state.
local function first_error(...)
  for i = 1, select('#', ...) do
    local answer = select(i, ...)
    if type(answer) == 'table' and answer.err then
      return answer
    end
  end
end

-- Returns the group of the job that this one may replace, or nil.
local function group_of_owner(options)
  local owner = options.unique_replace and redis.pcall('HGET', unique, options.unique)
  local group = type(owner) == 'string' and redis.pcall('HGET', job .. owner, 'group')
  return type(group) == 'string' and group or nil
end

-- Returns the keys that the options use, and the groups and batches.
local function uses_of(asked)
  local uses, names, of_batches = {}, {}, {}
  local function name_group(group)
    if group and not names[group] then
      names[group], names[#names + 1] = true, group
    end
  end
  for _, options in pairs(asked) do
    if options then
      local replaces, after, batch = options.unique_replace, options.after, options.batch
      uses.scheduled = uses.scheduled or options.run_at_ms or options.delay_ms or after or replaces or options.request
      uses.prioritized = uses.prioritized or options.priority or replaces or options.request
      uses.sequence = uses.sequence or options.priority or options.group
      uses.unique, uses.awaiting = uses.unique or options.unique, uses.awaiting or after
      if batch and string.find(batch, '\t', 1, true) then
        uses.guests = true
      elseif batch then
        of_batches[batch_record .. batch] = true
      end
      name_group(options.group)
      name_group(group_of_owner(options))
    end
  end
  return uses, names, of_batches
end

-- Reads what placing the groups asks for, which knows it then. The heads are only written.
local function read_groups(names)
  for i = 1, #names, 500 do
    local slice = { unpack(names, i, math.min(i + 499, #names)) }
    recall_states(slice)
    recall_ends(slice)
    for _, set in pairs(sets) do
      recall(set, slice)
    end
  end
end

local function group_error(names)
  local is_read, failure = pcall(read_groups, names)
  if not is_read then
    return type(failure) == 'table' and failure or { err = failure } -- a text in Redis 7.0
  end
  failure = first_error(redis.pcall('HLEN', group_keys.settings), redis.pcall('HLEN', groups .. 'holds'),
    redis.pcall('ZCARD', groups .. 'resting'))
  for i = 1, failure and 0 or #names do
    local name = names[i]
    failure = failure or first_error(redis.pcall('ZCARD', groups .. 'waiting:' .. name), redis.pcall('ZCARD', groups .. 'running:' .. name),
      redis.pcall('ZCARD', groups .. 'later:' .. name), redis.pcall('HLEN', groups .. 'state:' .. name))
  end
  return failure
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
  local failure = first_error(redis.pcall('LLEN', pending), redis.pcall('ZCARD', wake), redis.pcall('HLEN', stats),
    redis.pcall('HLEN', settings),
    uses.scheduled and redis.pcall('ZCARD', scheduled), uses.prioritized and redis.pcall('ZCARD', prioritized),
    uses.sequence and redis.pcall('GET', sequence),
    uses.unique and redis.pcall('HLEN', unique), uses.unique and redis.pcall('ZCARD', unique_expiries),
    uses.guests and redis.pcall('HLEN', batch_guests), uses.awaiting and redis.pcall('ZCARD', awaiting))
  return failure or next(of_batches) and batch_error(of_batches) or names[1] and group_error(names) or nil
end
