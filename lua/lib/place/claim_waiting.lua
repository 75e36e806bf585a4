-- Takes ids for a claim if the queue has more than plain jobs. Promotes due jobs, and obeys a pause, limits and groups.
-- It is not a function, because a function would bind its outside variables: see lua/attempt/claim.lua,
-- lib/limits/slots_and_rate, lib/core/rank, lib/place/promote.
-- Needs: claims, count, groups, ids, known_jobs, limited_by, more, names, pending, prioritized, reply, scheduled,
--   sequence, slots, to_wait, lib/core/clock, lib/limits/slots_and_rate.
redis.call('GET', sequence) -- these raise an error before a job is taken, if the key has another type
redis.call('ZCARD', claims)
local soonest = redis.call('ZRANGE', scheduled, 0, 0, 'WITHSCORES')
if soonest[1] and #soonest[1] > 1024 then -- no id is as long: it is due now, so that no further claim reads it here
  redis.call('ZADD', scheduled, now_text, soonest[1])
  soonest[2] = now_text
end
local is_due = soonest[2] and tonumber(soonest[2]) <= now
local wait, gate_opens_in, taken_before, waits_here
limited_by, known_jobs = is_limited and 'limited' or nil, has_groups and {} or nil
local for_slots = math.min(count, slots and slots + to_wait or count) -- more only of groups without a limit, see lib/turn/take_head
if is_limited and not paused then
  count, wait = room_for((max_running or rate) and for_slots or count)
end
local has_finishes
if has_groups and not paused then
  -- These raise an error too. They are first written after a job is taken.
  redis.call('HLEN', groups .. 'ends')
  redis.call('ZCARD', groups .. 'depths')
  redis.call('ZCARD', groups .. 'heads')
  has_finishes = redis.call('ZCARD', groups .. 'finishes') > 0
end
--@include lib/group/padding
--@include lib/turn/after_turns
--@limited lib/permits/every_turn
if has_groups and not (paused or names or is_due or rate) then
--@include lib/turn/take_single_slot
  taken_before = take_single_slot(math.min(count, for_slots))
end
if taken_before and taken_before.is_done then
  ids, more = taken_before, taken_before.is_more
else
  -- Included here, and not above, so that a claim of single-slot groups does not pay for the rest.
--@include lib/turn/claim_others
end

if not paused then
  if is_limited then
    local waiting = more or redis.call('LLEN', pending) + redis.call('ZCARD', prioritized) > 0
    wait = wait_for_rate(waiting) or wait
    local has_slot, is_full, is_ready = slots_left > #ids, #ids >= for_slots, more
    more = more and count > 0 and (#ids == count or is_full) and has_slot and not wait
    if names and not has_groups then
      wait = (waits_here or unpaid_wait) and wait or nil -- jobs of other names wait for their own worker
    else
      wait = waiting and wait or nil
    end
    local in_groups = has_groups
      and tonumber(taken_before and taken_before.waiting or redis.call('HGET', groups .. 'settings', 'waiting') or 0) > 0
    local is_bound = max_running or rate or rests_until > now or ids.is_bound or in_groups and not is_ready
    limited_by = not is_bound and 'grouped' or (max_running and waiting or in_groups) and 'awaits-slots' or 'limited'
    wait = gate_opens_in and math.min(gate_opens_in, wait or gate_opens_in) or wait
    if wait and has_slot and for_slots > 0 then -- else time alone starts no job, or none here
--@include lib/limits/timer
      reply[2] = hold_timer(wait, is_full) or reply[2]
    end
  end
  if soonest[2] then
    local due_in = math.max(0, tonumber(soonest[2]) - now)
    reply[2] = reply[2] and math.min(reply[2], due_in) or due_in
    more = more or due_in == 0
  end
end
