#!lua flags=no-writes,allow-oom
-- Returns one page of the jobs in one state, with their hashes. Skips ids without a hash, and in a history ids in use
-- again. A job that has ended again is in the history twice until the sweep reaches its old place. A page shows it once,
-- in the newest.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] state, which sets the order
--   pending (next to claim first), scheduled (next due first), processing (next to expire first)
--   completed, failed, cancelled (newest first)
-- ARGV[2] offset
-- ARGV[3] the most to return
-- ARGV[4] the most bytes of a long field, see lib/core/short_hash; '' for any
-- Returns for each job: its id, its hash as a flat list of field, value. Repeated: reads again.
--@include lib/core/keys
--@include lib/core/short_hash
--@include lib/place/ids_of
local most_bytes = tonumber(ARGV[4])
local state, offset, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local ended = is_ended(state)
local jobs, shown = {}, {}
for _, id in ipairs(ids_of(state, offset, limit)) do
  local hash = short_hash(job .. id, most_bytes)
  if #hash > 0 and not shown[id] and (not ended or redis.call('HGET', job .. id, 'status') == state) then
    shown[id] = true
    jobs[#jobs + 1], jobs[#jobs + 2] = id, hash
  end
end
return jobs
