#!lua flags=no-writes,allow-oom
-- Returns one slice of the dead letters that match a filter, from a place on.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] oldest | newest: the order
-- ARGV[2] the most to read in this call
-- ARGV[3] the most to return
-- ARGV[4] job name, or ''
-- ARGV[5] a text in the last error, in lower case, or ''
-- ARGV[6] the minimum age in ms, or ''
-- ARGV[7] the maximum age in ms, or ''
-- ARGV[8] the latest time of failure in ms, or ''
-- ARGV[9], ARGV[10] the place: time of failure and id of the last one that was read, or '' and ''
-- ARGV[11] '1': return the hashes too
-- ARGV[12] the most bytes of a long field, see lib/core/short_hash; '' for any
-- ARGV[13] a kind of error; ! and a kind for all other kinds; '' for any
-- Returns now in ms; the next place (time of failure, id; both '' at the end); then for each match: id, time of
--   failure, its hash as a flat list of field, value (empty unless requested). Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/is_less
--@include lib/core/short_hash
local most_bytes, kind = tonumber(ARGV[12]), ARGV[13]
local other_than = string.match(kind, '^!(.*)$')
local order, looks, most, name, text_in = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local least_age, greatest_age, until_ms = tonumber(ARGV[6]) or 0, tonumber(ARGV[7]), tonumber(ARGV[8])
local last_at, last_id, with_hashes = ARGV[9], ARGV[10], ARGV[11] == '1'

-- Returns how many precede (at, id), or with = true also that place itself, even if it is gone.
local function rank(at, id, with)
  local low, high = redis.call('ZCOUNT', dead, '-inf', '(' .. at), redis.call('ZCOUNT', dead, '-inf', at)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', dead, middle, middle)[1]
    if is_less(other, id) or with and other == id then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local function range()
  local low = greatest_age and redis.call('ZCOUNT', dead, '-inf', '(' .. now - greatest_age) or 0
  local high = redis.call('ZCOUNT', dead, '-inf', math.min(now - least_age, until_ms or now))
  if last_at ~= '' and order == 'oldest' then
    low = math.max(low, rank(last_at, last_id, true))
  elseif last_at ~= '' then
    high = math.min(high, rank(last_at, last_id, false))
  end
  return low, high
end

local function matches(key)
  if name == '' and text_in == '' and kind == '' then
    return true
  end
  local own_name, error, own_kind = unpack(redis.pcall('HMGET', key, 'name', 'last_error', 'error_kind'))
  return (kind == '' or own_kind == kind or other_than and own_kind ~= other_than)
    and (name == '' or own_name == name)
    and (text_in == '' or error and string.find(string.lower(error), text_in, 1, true) ~= nil)
end

local low, high = range()
local first, last, step = low, math.min(high, low + looks) - 1, 1
if order == 'newest' then
  first, last, step = high - 1, math.max(low, high - looks), -1
end
local found, looked = {}, 0
local slice = (last - first) * step >= 0
  and redis.call('ZRANGE', dead, math.min(first, last), math.max(first, last), 'WITHSCORES') or {}
local from, to = 1, #slice - 1
if order == 'newest' then
  from, to = to, from
end
for i = from, to, 2 * step do
  local id, at = slice[i], slice[i + 1]
  looked, last_at, last_id = looked + 1, at, id
  if matches(job .. id) then
    found[#found + 1], found[#found + 2] = id, at
    local hash = with_hashes and short_hash(job .. id, most_bytes) or {}
    found[#found + 1] = hash.err and {} or hash -- the key is not a hash
    if #found == 3 * most then
      break
    end
  end
end
if looked >= high - low then
  last_at, last_id = '', ''
end
return { now, last_at, last_id, unpack(found) }
