#!lua flags=no-writes,allow-oom
-- Finds suspects in a slice of jobs. It is cheap, because it leaves out the two lists, whose search is O(their length).
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1..] ids
-- Returns, for each suspect: id, finding, its status or ''.
--   finding: nowhere (in no sorted set, perhaps in a list), absent (the same without a hash) or odd. Repeated: reads
--     again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/doctor/inspect
--@include lib/doctor/oversized
local reply = {}
for _, id in ipairs(ARGV) do
  local is_large = #id > 1024 or oversized_of(id) -- no enqueue takes such a job
  local at = is_large and { places = {} } or inspect(id, 0, 0)
  local verdict
  if is_large then
    verdict = 'odd'
  elseif #at.places == 0 then
    local ended = (at.status == 'completed' or at.status == 'cancelled') and (at.ttl >= 0 or at.is_kept)
    local unwell = at.status == 'pending' and (at.ttl >= 0 or at.token and at.token ~= '')
    verdict = not ended and (unwell and 'odd' or (at.hash or at.other) and 'nowhere' or 'absent')
  elseif fault_of(at) then
    verdict = 'odd'
  end
  if verdict then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = id, verdict, at.status or ''
  end
end
return reply
