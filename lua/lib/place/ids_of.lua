-- ids_of(state, offset, limit): returns one page of the ids of the jobs in one state, in the order of lists.
-- is_ended(state): returns whether its ids are in a history, which has an id twice after its reuse.
-- Needs: lib/core/keys.
local function reversed(list)
  local turned = {}
  for i = #list, 1, -1 do
    turned[#turned + 1] = list[i]
  end
  return turned
end

-- Joins two places of one state: the second fills the rest of the page.
local function joined(first_page, first_size, offset, limit, second_page_of)
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

local pages_of = {
  pending = function(offset, limit)
    local urgent, plain = redis.call('ZCARD', prioritized), redis.call('LLEN', pending)
    local first_page = joined(redis.call('ZRANGE', prioritized, offset, offset + limit - 1), urgent, offset, limit,
      function(from, room) return reversed(redis.call('LRANGE', pending, -from - room, -from - 1)) end)
    return joined(first_page, urgent + plain, offset, limit, grouped)
  end,
  processing = function(offset, limit)
    return joined(redis.call('ZRANGE', claims, offset, offset + limit - 1), redis.call('ZCARD', claims), offset, limit,
      function(from, room) return redis.call('LRANGE', processing, from, from + room - 1) end)
  end,
  scheduled = function(offset, limit) return redis.call('ZRANGE', scheduled, offset, offset + limit - 1) end,
  completed = function(offset, limit) return redis.call('LRANGE', completed, offset, offset + limit - 1) end,
  cancelled = function(offset, limit) return redis.call('LRANGE', cancelled, offset, offset + limit - 1) end,
  failed = function(offset, limit) return redis.call('ZRANGE', dead, offset, offset + limit - 1, 'REV') end,
}

local function ids_of(state, offset, limit)
  return pages_of[state](offset, limit)
end

local function is_ended(state)
  return state == 'completed' or state == 'failed' or state == 'cancelled'
end
