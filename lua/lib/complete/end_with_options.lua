-- Ends the effects of a completed job with options, or that other jobs wait for. Sets its group. Not a function: see
--   lua/attempt/complete.
-- Needs: end_job_with_options, exceptions, found, group, id, kept, key, only_grouped, own, owned, result, until_then.
if not end_job_with_options then
  -- Included here, and not above, so that other jobs do not pay for it.
--@include lib/settle/end_options
  end_job_with_options = end_options
end
found = only_grouped and redis.call('HMGET', key, 'claim_token', 'dependents', 'unique', 'last_error_at_ms', 'batch', 'group',
  'redriven_from', 'request')
  or found
local is_posted
group, is_posted = end_job_with_options(id, key, result, found)
if is_posted then
  exceptions[#exceptions + 1] = 0
end
if own or found[8] then
  owned = owned or { nil }
  owned[#owned + 1], owned[#owned + 2] = until_then, id
end
if found[2] then
  kept = kept or { nil }
  kept[#kept + 1] = id
end
