#!lua flags=no-writes,allow-oom
-- Returns one page of the outcomes of a batch's members, in the order in which they joined.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] batch; ARGV[2] how many members to pass over; ARGV[3] the most to return; ARGV[4] how many bytes to return: the first
--   comes in any case, each other only within them
-- Returns how many members there are beyond this page, then for each: its id (queue|id of one of another queue), and its outcome, '' while
--   it is open, else the status, a line feed, and its result as JSON or why it failed. Repeated: looks again.
--@include lib/core/keys
local key, offset, limit, most_bytes = batch_record .. ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local members = redis.call('LRANGE', key .. ':members', offset, offset + limit - 1)
local answer, bytes, beyond = { 0 }, 0, redis.call('LLEN', key .. ':members') - offset
for i, member in ipairs(members) do
  local outcome = redis.call('HGET', key .. ':outcomes', member) or ''
  bytes = bytes + #outcome
  if bytes > most_bytes and i > 1 then
    break
  end
  answer[1], answer[2 * i], answer[2 * i + 1] = beyond - i, member, outcome
end
return answer
