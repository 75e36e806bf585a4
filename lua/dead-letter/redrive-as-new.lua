#!lua
-- Redrives a dead letter as a new job: nothing -> pending. The dead letter stays as it is, and names the new job. The new
-- job has its name, payload, options and group, and its unique key unless another job has it. It is in no batch, and
-- starts without the checkpoint and steps. The dead letter no longer holds its group. Refused if Redis is full.
-- Transition: redrive-as-new
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id of the dead letter
-- ARGV[2] id of the new job
-- ARGV[3] payload (JSON) that the new job gets instead, or ''
-- Returns redriven or missing; or known and the id of the job as which it was redriven before, while that is known.
-- Repeated: redriven, and nothing changes.
--@include lib/core/keys
--@include lib/core/count
--@include lib/core/clock
--@include lib/core/read
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/unique/owner
--@include lib/enqueue/leave_plain
--@include lib/dead_letter/new_job_of
local id, new_id, payload = ARGV[1], ARGV[2], ARGV[3]
local key, new_key = job .. id, job .. new_id
local status, name, own_payload, options, priority, cost, group, unique_key, unique_for, max_attempts, max_crashes = unpack(read(key,
  'status', 'name', 'payload', 'options', 'priority', 'cost', 'group', 'unique', 'unique_for', 'max_attempts', 'max_crashes'))
local known = new_job_of(id)
if known == new_id then
  return { 'redriven', new_id }
elseif known then
  return { 'known', known }
elseif status ~= 'failed' or not own_payload or not redis.call('ZSCORE', dead, id) then
  return { 'missing', '' }
end

-- The options of the worker, without those of the batch and of the first start.
local rest = cjson.decode(unmarked(options or '{}'))
for _, option in ipairs({ 'batch', 'member', 'stopsBatch', 'delayMs', 'runAtMs', 'own', 'startedOverAtMs' }) do
  rest[option] = nil
end
if payload == '' then
  -- An encoded payload says for which job it was encoded, or of which schedule or batch its jobs are.
  local changed
  payload, changed = string.gsub(own_payload, '^{"$codec":("[%l%d-]+"),"value":', function(codec)
    return '{"$codec":' .. codec .. ',"of":' .. cjson.encode(id) .. ',"value":'
  end)
  local of, maker = string.match(own_payload, '^{"$codec":"[%l%d-]+","of":(".-"),"value":'), string.match(id, '^(@.+):')
  -- A payload that only looks encoded may have any text there.
  local is_read, read_of = pcall(cjson.decode, '[' .. (of or '') .. ']')
  local is_of_maker = is_read and maker and read_of[1] == maker
  rest.payloadId = changed == 1 and id or is_of_maker and maker or rest.payloadId
else
  rest.payloadId = nil
end
local fields = { 'payload', payload, 'enqueued_at_ms', now_text, 'options', cjson.encode(rest), 'redriven_from', id }
local function copy(field, value)
  if value then
    fields[#fields + 1], fields[#fields + 2] = field, value
  end
end
copy('name', name)
copy('priority', priority)
copy('cost', cost)
copy('group', group)
copy('max_attempts', max_attempts)
copy('max_crashes', max_crashes)
if unique_key and not resolve_unique({ unique = unique_key }) then
  own_unique(new_id, { unique = unique_key })
  copy('unique', unique_key)
  copy('unique_for', unique_for)
end
end_hold_of(id)
redis.call('HSET', new_key, 'status', 'pending', unpack(fields))
redis.call('HSET', key, 'redriven_as', new_id)
count('enqueued_total', 1)
to_back(new_id, priority, group)
place_groups()
return { 'redriven', new_id }
