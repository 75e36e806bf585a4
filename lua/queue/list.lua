#!lua flags=no-writes,allow-oom
-- One page of the jobs in one state, with their hashes; ids whose hash is gone are passed over, and in a history those
-- whose id is in use again. One that has ended again stands there twice until the sweep comes to its old place: a page
-- shows it once, in the newest.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] state: pending (next to be claimed first), scheduled (next due first), processing (next to expire first),
--   completed, failed, cancelled (newest first); ARGV[2] offset; ARGV[3] the most to return
-- ARGV[4] the most bytes of a long field, see lib/core/short_hash; '' for any
-- Returns for each job: its id, its hash as a flat list of field, value. Repeated: looks again.
--@include lib/core/keys
--@include lib/core/short_hash
local most_bytes = tonumber(ARGV[4])
local state, offset, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function reversed(list)
  local turned = {}
  for i = #list, 1, -1 do
    turned[#turned + 1] = list[i]
  end
  return turned
end

-- Joins two places that hold one state: what the first leaves of the page comes from the second.
local function joined(first_page, first_size, second_page_of)
  local room = limit - #first_page
  if room > 0 then
    for _, id in ipairs(second_page_of(math.max(0, offset - first_size), room)) do
      first_page[#first_page + 1] = id
    end
  end
  return first_page
end

-- Groups by the age of their heads, each in its order; at most a thousand groups are passed over.
local function grouped(from, room)
  local ids = {}
  for _, group in ipairs(redis.call('ZRANGE', groups .. 'heads', 0, 999)) do
    local depth = redis.call('ZCARD', groups .. 'waiting:' .. group)
    if from < depth and #ids < room then
      for _, id in ipairs(redis.call('ZRANGE', groups .. 'waiting:' .. group, from, from + room - #ids - 1)) do
        ids[#ids + 1] = id
      end
    end
    from = math.max(0, from - depth)
  end
  return ids
end

local pages = {
  pending = function()
    local first_page = joined(redis.call('ZRANGE', prioritized, offset, offset + limit - 1), redis.call('ZCARD', prioritized),
      function(from, room) return reversed(redis.call('LRANGE', pending, -from - room, -from - 1)) end)
    return joined(first_page, redis.call('ZCARD', prioritized) + redis.call('LLEN', pending), grouped)
  end,
  processing = function()
    return joined(redis.call('ZRANGE', claims, offset, offset + limit - 1), redis.call('ZCARD', claims),
      function(from, room) return redis.call('LRANGE', processing, from, from + room - 1) end)
  end,
  scheduled = function() return redis.call('ZRANGE', scheduled, offset, offset + limit - 1) end,
  completed = function() return redis.call('LRANGE', completed, offset, offset + limit - 1) end,
  cancelled = function() return redis.call('LRANGE', cancelled, offset, offset + limit - 1) end,
  failed = function() return redis.call('ZRANGE', dead, offset, offset + limit - 1, 'REV') end,
}

local ended = state == 'completed' or state == 'failed' or state == 'cancelled'
local jobs, shown = {}, {}
for _, id in ipairs(pages[state]()) do
  local hash = short_hash(job .. id, most_bytes)
  if #hash > 0 and not shown[id] and (not ended or redis.call('HGET', job .. id, 'status') == state) then
    shown[id] = true
    jobs[#jobs + 1], jobs[#jobs + 2] = id, hash
  end
end
return jobs
