-- oversized_of(id): returns a part of a job that is too large, in words, and the most that it may have. nil without one. It
--   loads none.
-- leave_lines(id): removes an id from each place of the queue itself. Its group is left to the caller.
-- cut_down(id, found): makes a dead letter of such a job. Only its short fields and its payload stay.
-- Needs: lib/core/keys, lib/kind/change_kind, lib/settle/finish.
local most_fields, longest_field, giant_payload = 4096, 262144, 33554432
local largest_parts = { name = 1024, group = 1024, options = longest_field }
local parts = { 'name', 'group', 'options' }
local kept = { 'name', 'payload', 'enqueued_at_ms', 'attempts', 'errors', 'crashes', 'batch', 'unique', 'dependents' }

local function oversized_of(id)
  local fields = redis.pcall('HLEN', job .. id)
  if type(fields) ~= 'number' then
    return nil -- a key of another type is a ghost
  elseif fields > most_fields then
    return string.format('%d fields', fields), most_fields
  end
  for _, part in ipairs(parts) do
    local length = redis.call('HSTRLEN', job .. id, part)
    if length > largest_parts[part] then
      return string.format('%s of %d bytes', part, length), largest_parts[part]
    end
  end
end

local function leave_lines(id)
  for _, set in ipairs({ claims, prioritized, scheduled, dead }) do
    redis.call('ZREM', set, id)
  end
  for _, list in ipairs({ pending, processing, completed, failed, cancelled }) do
    redis.call('LREM', list, 0, id)
  end
end

local function cut_down(id, found)
  local key = job .. id
  local group = redis.call('HGET', key, 'group')
  if group then
    redis.call('ZREM', groups .. 'waiting:' .. group, id)
    redis.call('ZREM', groups .. 'running:' .. group, id)
  end
  leave_lines(id)
  change_kind(id)
  local fields = { 'status', 'failed' }
  for _, field in ipairs(kept) do
    local length = redis.call('HSTRLEN', key, field)
    if length > 0 and length <= (field == 'payload' and giant_payload or longest_field) then
      local value = redis.call('HGET', key, field)
      fields[#fields + 1], fields[#fields + 2] = field, field == 'name' and string.sub(value, 1, 100) or value
    end
  end
  redis.call('UNLINK', key)
  redis.call('HSET', key, unpack(fields))
  bury(id, 'The job has ' .. found .. ', which no enqueue writes. The doctor kept its payload.', '@oversized')
end
