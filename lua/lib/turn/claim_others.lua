-- Takes ids for a claim in any case, by the means that the queue and the claimer need: see lib/place/claim_waiting.
-- It is not a function, because a function would bind its outside variables.
-- Needs: count, ids, left, more, names, overdue, ranks, scheduled, lib/limits/slots_and_rate, lib/place/claim_waiting,
--   lib/place/promote.
local take_ungrouped, can_take, report_left
local rejoin, take_by_groups, place_touched, touch_group
if has_groups then
--@include lib/group/place
--@include lib/group/join
--@include lib/group/open_groups
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
if is_due then
  promote(math.max(asked, 100), rejoin)
  soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
end
if paused then
  if has_groups then
    place_touched()
  end
elseif has_groups then
  ids, more, ranks, gate_opens_in = take_by_groups(count, alike)
else
  ids, more, ranks = take_ungrouped(count)
  charge(ids)
end
if report_left and not paused then
  report_left()
end
