#!lua flags=no-writes,allow-oom
-- Reads one slice of the jobs in one state, and returns the matches, in the order of lua/queue/list.lua.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] state, as for lua/queue/list
-- ARGV[2] the place where the slice begins
-- ARGV[3] the most to read
-- ARGV[4] how many matches to skip
-- ARGV[5] the most to return
-- ARGV[6] the most bytes of a long field, see lib/core/short_hash, '' for any
-- ARGV[7] job name, or ''
-- ARGV[8] the minimum age in ms, or ''
-- ARGV[9] the maximum age in ms, or ''
-- ARGV[10..] metadata: key, value
-- The age counts from when the job became claimable, was claimed, or ended, and for a scheduled job from its enqueue,
--   as in lua/queue/clean.
-- Returns the next place, or -1 at the end; how many matches were skipped; then for each match: its id, its hash as a
--   flat list of field, value. Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/short_hash
--@include lib/place/ids_of
local state, place, looks = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local skip, most, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local name, least_age, greatest_age = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local since_fields = { pending = 'ready_at_ms', processing = 'claimed_at_ms', completed = 'completed_at_ms',
  failed = 'failed_at_ms', cancelled = 'cancelled_at_ms', scheduled = 'enqueued_at_ms' }

local function is_of_age(since, enqueued_at)
  if not (least_age or greatest_age) then
    return true
  end
  local at = since or enqueued_at
  local age = at and now - (tonumber(at) or now)
  return age ~= nil and age ~= false and age >= (least_age or -math.huge) and age <= (greatest_age or math.huge)
end

local function has_metadata(options)
  if not ARGV[10] then
    return true
  end
  local is_read, read_options = pcall(cjson.decode, options or '')
  local metadata = is_read and type(read_options) == 'table' and read_options.metadata
  for i = 10, #ARGV, 2 do
    if type(metadata) ~= 'table' or metadata[ARGV[i]] ~= ARGV[i + 1] then
      return false
    end
  end
  return true
end

local function matches(id)
  local fields = redis.pcall('HMGET', job .. id, 'name', 'status', 'options', 'enqueued_at_ms', since_fields[state])
  if fields.err or is_ended(state) and fields[2] ~= state then
    return false
  end
  return (name == '' or fields[1] == name) and is_of_age(fields[5], fields[4]) and has_metadata(fields[3])
end

local ids, found, looked, passed = ids_of(state, place, looks), {}, 0, 0
for _, id in ipairs(ids) do
  looked = looked + 1
  if matches(id) then
    if passed < skip then
      passed = passed + 1
    else
      local hash = short_hash(job .. id, most_bytes)
      found[#found + 1], found[#found + 2] = id, hash
    end
  end
  if #found == 2 * most then
    break
  end
end
local is_last = #ids < looks and looked == #ids
return { is_last and -1 or place + looked, passed, unpack(found) }
