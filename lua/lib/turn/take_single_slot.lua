-- take_single_slot(count): takes up to count ids for a claim, as lib/turn/take does, with a third of its work. It takes the
--   heads of the first groups in turns. These groups run one job at a time and have no state. The only option of their
--   jobs is a group. Each of them has one turn, so their order is that of turns.
-- Returns nil if other jobs or groups may come first. Else the ids, with what lib/turn/take needs to continue:
--   bytes, groups, latest_finish
--   is_bound: as of lib/turn/take_head
--   is_done: nothing is left for it; is_more: a group could run another job; waiting: how many jobs wait
-- It needs no other library of groups, so a claim of such jobs alone does not define them.
-- Needs: groups, job, known_jobs, most_bytes, lib/core/clock, lib/group/padding, lib/place/claim_waiting,
--   lib/turn/after_turns.
--@include lib/turn/single_slot_groups
--@include lib/turn/write_single_slot
local lines = groups .. 'waiting:'

-- Takes the first job of a group, if its only option is the group.
local function take_plain_head(name, taken)
  local head = redis.pcall('ZPOPMIN', lines .. name) -- an error here would lose the ids that are taken already
  local id = head[1]
  if not id then
    return nil
  end
  local found = redis.pcall('HMGET', job .. id, 'name', 'payload', 'attempts', 'enqueued_at_ms', 'options', 'status')
  local payload = found[2]
  if payload and not found[3] and found[6] == 'pending' and found[5] == ' {"group":"' .. name .. '"}' then
    local bytes = taken.bytes + #payload
    -- Another client may have spoilt the key of its slots.
    if bytes <= most_bytes and redis.pcall('ZADD', groups .. 'running:' .. name, now_text, id) == 1 then
      found[8], taken.bytes, known_jobs[id] = 'grouped', bytes, found
      return id
    end
  end
  redis.call('ZADD', lines .. name, head[2], id)
end

local function take_single_slot(count)
  count = math.min(count, 1000)
  local found, step, clock = read_single_slot(count)
  if not found then
    return nil
  end
  local names = first_single_slot(found)
  if found[1] and not names[1] then
    return nil
  end
  -- Most starts are the same. Then only the first and the last are read, because a score as text is costly.
  local outer = names[1] and redis.call('ZMSCORE', groups .. 'turns', names[1], names[#names])
  local starts = outer and outer[1] ~= outer[2] and redis.call('ZMSCORE', groups .. 'turns', unpack(names))
  local waiting_before = names[1] and redis.call('ZMSCORE', groups .. 'depths', unpack(names))
  local last_start, finish, n = nil, nil, 0
  local taken, ended, depths, emptied, fewer = { bytes = 0, groups = {} }, {}, {}, {}, { ['1'] = '0' }
  for i, name in ipairs(names) do
    local depth, start = waiting_before[i], starts and starts[i] or outer[1]
    local id = name ~= '' and depth and depth ~= '0' and take_plain_head(name, taken)
    if not id then
      break
    end
    if start ~= last_start then
      last_start, clock = start, math.max(clock, tonumber(start))
      finish = score_text(clock + step)
    end
    fewer[depth] = fewer[depth] or string.format('%d', tonumber(depth) - 1)
    n = n + 1
    taken[n] = id
    ended[2 * n - 1], ended[2 * n], depths[2 * n - 1], depths[2 * n] = name, finish, fewer[depth], name
    emptied[#emptied + 1] = depth == '1' and name or nil
  end
  taken.is_done = n == count or n == #found and n < count
  if n > 0 then
    taken.latest_finish, taken.is_bound, taken.groups = clock + step, true, n == #names and names or { unpack(names, 1, n) }
    write_single_slot(taken.groups, ended, depths, emptied)
    taken.waiting = redis.call('HINCRBY', groups .. 'settings', 'waiting', string.format('%d', -n))
    taken.is_more = after_turns(taken.groups, n, clock, taken.latest_finish, has_finishes)
  end
  return taken
end
