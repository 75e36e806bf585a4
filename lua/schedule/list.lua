#!lua flags=no-writes,allow-oom
-- Returns one schedule, or one page of them, the next due first, resting ones last.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] id, or '' for a page
-- ARGV[2] offset
-- ARGV[3] the most to return
-- ARGV[4] how long a declaration lasts, in ms
-- Returns for each: its hash as a flat list of field, value, with id, due_at_ms (absent while it rests), declared (1
--   if a process declares it) and overdue_since_ms (a due time that has passed without a run; absent if there is none).
--   The states of its runs are as of now. Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/schedule/rest
--@include lib/schedule/overdue
--@include lib/schedule/runs
local one, offset, limit, declaration_ms = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ids = one ~= '' and { one } or redis.call('ZRANGE', schedule_due, offset, offset + limit - 1)
local schedules = {}
for _, id in ipairs(ids) do
  local hash = redis.call('HGETALL', schedule .. id)
  if #hash > 0 then
    local function add(field, value)
      hash[#hash + 1], hash[#hash + 2] = field, value
    end
    for i = 1, #hash, 2 do
      if hash[i] == 'runs' then
        hash[i + 1] = runs_now(id, hash[i + 1])
      end
    end
    add('id', id)
    add('declared', is_declared(id, declaration_ms) and '1' or '0')
    local due = redis.call('ZSCORE', schedule_due, id)
    if due and due ~= 'inf' then
      add('due_at_ms', due)
    end
    local overdue = overdue_since(id, due)
    if overdue then
      add('overdue_since_ms', string.format('%d', overdue))
    end
    schedules[#schedules + 1] = hash
  end
end
return schedules
