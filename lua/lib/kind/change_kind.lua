-- change_kind(id, kind): counts a new dead letter under the kind of its error, and writes the kind into its hash. With a
--   hundred kinds a further one counts as @other. Without `kind` it takes a job that leaves the dead letters out of its
--   count. A key of another type costs the count, and stops no script.
-- `kind` may have a second word: the joint kind of all errors of its name and place. A new kind counts as the joint kind
--   if ten kinds are new within a minute. This goes on until no job has counted so for ten minutes.
-- A record has the count, the first and the last time in ms, and the hour of the last time. Then it has the counts of
--   that hour and of the one before, and the id of the last. See docs/internals/error-kinds.md.
-- Needs: error_kinds, job, lib/core/clock.
local function change_kind(id, kind)
  local most_kinds, hour_ms = 100, 3600000
  local most_new, minute_ms, join_ms = 10, 60000, 600000
  local counted = redis.pcall('HGET', job .. id, 'error_kind')
  if type(counted) == 'string' then -- an earlier version redrives without a change of the count
    redis.call('HDEL', job .. id, 'error_kind')
    local known = redis.pcall('HGET', error_kinds, counted)
    local count, rest = string.match(type(known) == 'string' and known or '', '^(%d+)( .*)$')
    if count and tonumber(count) > 1 then
      redis.call('HSET', error_kinds, counted, string.format('%d', count - 1) .. rest)
    elseif count then
      redis.call('HDEL', error_kinds, counted)
    end
  end
  local own, joined = string.match(kind or '', '^(%S+) (%S+)$')
  kind = own or kind
  local record = kind and redis.pcall('HGET', error_kinds, kind)
  if joined and not record then
    local known = redis.call('HGET', error_kinds, joined)
    local fresh, last = 0, known and tonumber(string.match(known, '^%d+ %d+ (%d+) '))
    local is_joining = last and last > now - join_ms
    local all = is_joining and {} or redis.call('HGETALL', error_kinds)
    for i = 1, #all, 2 do
      local is_own = string.match(all[i], '^%x')
      local first = tonumber(string.match(all[i + 1], '^%d+ (%d+) ')) or 0
      fresh = fresh + (is_own and first > now - minute_ms and 1 or 0)
    end
    if is_joining or fresh >= most_new then
      kind, record = joined, known
    end
  end
  if kind and not record and redis.call('HLEN', error_kinds) >= most_kinds then
    kind = '@other'
    record = redis.call('HGET', error_kinds, kind)
  end
  if not kind or type(record) == 'table' then
    return
  end
  local count, first, hour, in_hour, before = string.match(record or '', '^(%d+) (%d+) %d+ (%d+) (%d+) (%d+) ')
  local this_hour = math.floor(now / hour_ms)
  if tonumber(hour) ~= this_hour then
    in_hour, before = 0, tonumber(hour) == this_hour - 1 and in_hour or 0
  end
  redis.call('HSET', error_kinds, kind, table.concat({ string.format('%d', (count or 0) + 1), first or now_text, now_text,
    this_hour, string.format('%d', in_hour + 1), before, id }, ' '))
  redis.call('HSET', job .. id, 'error_kind', kind)
end
