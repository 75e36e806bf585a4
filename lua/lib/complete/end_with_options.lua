-- Ends the effects of a completed job with options, or that other jobs wait for. Sets its group. Not a function: see
--   lua/attempt/complete.
-- Needs: end_job_with_options, exceptions, found, group, id, key, only_grouped, result.
if not end_job_with_options then
  -- Included here, and not above, so that other jobs do not pay for it.
--@include lib/settle/end_options
  end_job_with_options = end_options
end
found = only_grouped and redis.call('HMGET', key, 'claim_token', 'dependents', 'unique', 'last_error_at_ms', 'batch', 'group')
  or found
local is_posted
group, is_posted = end_job_with_options(id, key, result, found)
if is_posted then
  exceptions[#exceptions + 1] = 0
end
