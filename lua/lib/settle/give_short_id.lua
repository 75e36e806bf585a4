-- give_short_id(long, short): moves what is known of a job to a hash under a short id. So no further step reads or writes the
--   long one. The hash gets the field oversized: the bytes of the long id, a space and its start. A slot of its
--   group goes with it.
-- longest_id: more bytes than any id that an enqueue takes, and any that scripts make.
-- Needs: groups, job, lib/core/clock, lib/core/read.
local longest_id = 1024

local function give_short_id(long, short)
  local name, payload, enqueued_at, group = unpack(read(job .. long, 'name', 'payload', 'enqueued_at_ms', 'group'))
  local fields = { 'status', 'oversized', 'oversized', string.format('%d ', #long) .. string.sub(long, 1, 60),
    'enqueued_at_ms', enqueued_at or now_text }
  if name then
    fields[#fields + 1], fields[#fields + 2] = 'name', string.sub(name, 1, longest_id)
  end
  if payload and #payload <= 33554432 then
    fields[#fields + 1], fields[#fields + 2] = 'payload', payload
  end
  if group and #group <= longest_id and redis.call('ZREM', groups .. 'running:' .. group, long) == 1 then
    redis.call('ZADD', groups .. 'running:' .. group, now_text, short)
    fields[#fields + 1], fields[#fields + 2] = 'group', group
  end
  redis.call('UNLINK', job .. long)
  redis.call('HSET', job .. short, unpack(fields))
end
