-- same_life(state, at, id): whether the job that a member of `histories` names still stands there by that end.
-- prune_stale(): takes out of `histories` the members of jobs that are gone or have another life by now. A part of a
-- long one, from anywhere in it: so those of a name without a handler go in time too.
-- Needs: job, histories, limit, more, now, read, own_ends.
local function same_life(state, at, id)
  local status, ended = unpack(read(job .. id, 'status', ended_at[state]))
  return status == state and ended == at
end

local function prune_stale()
  local size = redis.call('ZCARD', histories)
  local from = size > limit and now % (size - limit + 1) or 0
  local gone = 0
  for _, member in ipairs(redis.call('ZRANGE', histories, from, from + limit - 1)) do
    local state = string.match(member, '^(%l+) "') or 'completed'
    local at, id = string.match(member, ' (%d+) (%S+)$')
    if not (ended_at[state] and at and same_life(state, at, id)) then
      gone = gone + redis.call('ZREM', histories, member)
    end
  end
  more = gone == limit and 1 or more
end
