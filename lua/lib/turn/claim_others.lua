-- Takes ids for a claim in any case, by the means that the queue and the claimer need: see lib/place/claim_waiting.
-- It is not a function, because a function would bind its outside variables.
-- Needs: count, ids, more, names, overdue, report_left, scheduled, lib/limits/slots_and_rate, lib/place/claim_waiting.
local take_ungrouped, can_take
local rejoin, take_by_groups
--@include lib/limits/charge
if has_groups then
--@include lib/group/place
--@include lib/group/join
--@include lib/group/open_groups
--@include lib/turn/take
  rejoin, take_by_groups = rejoin_group, take_grouped
end
if names then
--@include lib/place/take_named
  overdue, can_take = {}, may_take
  take_ungrouped = take_named
  report_left = not paused and function()
    local left = { cursor, elsewhere and 1 or 0 }
    for name in pairs(unserved) do
      left[#left + 1] = name
    end
    return left
  end
else
--@include lib/place/take
  take_ungrouped = take
end
--@limited lib/permits/bound
if is_due then
--@include lib/place/promote
  promote(math.max(tonumber(ARGV[1]), 100), rejoin)
  soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
end
if has_groups then
  ids, more, gate_opens_in = take_by_groups(count, taken_before)
elseif not paused then
  ids, more = take_ungrouped(count)
  charge(ids)
end
