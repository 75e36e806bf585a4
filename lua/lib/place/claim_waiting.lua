-- Takes ids for a claim if the queue has more than plain jobs: promotes due jobs, and obeys a pause, limits and groups.
-- It is not a function, because a function would bind its outside variables: see lua/attempt/claim.lua,
-- lib/limits/slots_and_rate, lib/core/rank, lib/place/promote.
local take_ungrouped, can_take, report_left
local rejoin, take_by_groups, place_touched, touch_group
if has_groups then
  known_jobs = {}
--@include lib/group/place
--@include lib/group/join
--@include lib/group/open
--@include lib/turn/take
  rejoin, take_by_groups, place_touched, touch_group = rejoin_group, take_grouped, place_groups, touch
end
if names then
--@include lib/place/take_named
  overdue, can_take = {}, may_take
  take_ungrouped = function(most)
    local taken, is_more
    taken, is_more, cursor = take_named(most)
    return taken, is_more
  end
  report_left = function()
    left = { cursor, elsewhere and 1 or 0 }
    for name in pairs(unserved) do
      left[#left + 1] = name
    end
  end
else
--@include lib/place/take
  take_ungrouped = take
end

--@include lib/place/take_unmet
local soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
if soonest[2] and tonumber(soonest[2]) <= now then
  promote(math.max(count, 100), rejoin, not paused and take_unmet or nil)
  soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
end
is_limited = limited or has_groups
if paused then
  if has_groups then
    place_touched()
  end
else
  local asked, wait, gate = count, nil, nil
  if is_limited then
    count, wait = room_for(math.min(count, slots)) -- never claimed ahead of a free slot
  end
  if has_groups then
    ids, more, ranks, gate = take_by_groups(count)
  else
    ids, more, ranks = take_ungrouped(count)
    charge(ids)
  end
  if report_left then
    report_left()
  end
  if is_limited then
--@include lib/limits/timer
    wait = wait_for_rate() or wait
    local waiting = more or redis.call('LLEN', pending) + redis.call('ZCARD', prioritized) > 0
    more = more and count > 0 and #ids == count and not wait
      and not (max_running and max_running - redis.call('ZCARD', claims) <= #ids)
    wait = waiting and wait or nil
    awaits_slots = max_running and waiting or has_groups and tonumber(redis.call('HGET', groups .. 'settings', 'waiting') or 0) > 0
    wait = gate and math.min(gate, wait or gate) or wait
    reply[2] = wait and hold_timer(wait, #ids == asked) or reply[2]
  end
  if soonest[2] then
    local due_in = math.max(0, tonumber(soonest[2]) - now)
    reply[2] = reply[2] < 0 and due_in or math.min(reply[2], due_in)
    due_waits = due_in == 0
  end
end
if #unmet_ids > 0 then
  unmet_count = #unmet_ids
  for _, id in ipairs(ids) do
    unmet_ids[#unmet_ids + 1] = id
  end
  ids = unmet_ids
end
