-- Names the keys of a move at its old place, see docs/internals/moving.md.
-- is_overtaken(fence): returns whether another mover has begun since the one with this fence.
-- entry_of(text): returns the key of an entry, its place and its score. Then it returns '1' if it owns its unique key, and until when
--   in ms. The last one is its hold of its group: alive, dead or ''.
-- Needs: lib/core/keys.
local moving = string.sub(sweep, 1, -6) .. 'moving:'
local moving_state, moving_order, moving_entries = moving .. 'state', moving .. 'order', moving .. 'entries'
local moving_job, moving_schedules, moving_batch = moving .. 'job:', moving .. 'schedules', moving .. 'batch:'
local moving_batches, moving_watch = moving .. 'batches', moving .. 'watch'
local batch_parts = { '', '/open', '/members', '/outcomes', '/seen', '/early' }

local function is_overtaken(fence)
  return redis.call('HGET', moving_state, 'fence') ~= fence
end

local function entry_of(text)
  return string.match(text, '^(.-)\t(.-)\t(.-)\t(.-)\t(.-)\t(.-)$')
end
