-- The ranks of the new jobs of an enqueue. One command takes their numbers from the sequence.
-- expect_ranks(most): says how many jobs of the call may need one, before the first gets one.
-- new_rank(priority): returns the rank at the end of the line of one priority.
-- return_ranks(): makes the numbers free again that no job needed.
-- Needs: sequence.
--@include lib/core/rank
local ranks_expected, ranks_left, last_number = 1, 0, 0

local function expect_ranks(most)
  ranks_expected = math.max(1, most)
end

local function new_rank(priority)
  if ranks_left == 0 then
    last_number = redis.call('INCRBY', sequence, string.format('%d', ranks_expected)) - ranks_expected
    ranks_left, ranks_expected = ranks_expected, 1
  end
  last_number, ranks_left = last_number + 1, ranks_left - 1
  return next_rank(priority, last_number)
end

local function return_ranks()
  if ranks_left > 0 then
    redis.call('INCRBY', sequence, string.format('%d', -ranks_left))
  end
end
