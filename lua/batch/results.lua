#!lua flags=no-writes,allow-oom
-- Returns one page of the outcomes of a batch's members, in the order in which they joined.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch
-- ARGV[2] how many members to skip
-- ARGV[3] the most to return
-- ARGV[4] the most bytes to return; the first member is returned in any case
-- Returns nil for an unknown batch, else how many members follow this page, then for each: its id, its outcome.
--   id: queue, tab, id for a member of another queue
--   outcome: '' while it is open; else the status, a line feed, and its result as JSON or the reason of its failure.
-- Repeated: reads again.
--@include lib/core/keys
local key, offset, limit, most_bytes = batch_record .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local members = redis.call('LRANGE', key .. '/members', offset, offset + limit - 1)
if #members == 0 and redis.call('EXISTS', key) == 0 then
  return nil
end
local reply, bytes, beyond = { 0 }, 0, redis.call('LLEN', key .. '/members') - offset
for i, member in ipairs(members) do
  local outcome = redis.call('HGET', key .. '/outcomes', member) or ''
  bytes = bytes + #outcome
  if bytes > most_bytes and i > 1 then
    break
  end
  reply[1], reply[2 * i], reply[2 * i + 1] = beyond - i, member, outcome
end
return reply
