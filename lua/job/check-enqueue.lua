#!lua flags=no-writes,allow-oom
-- Checks jobs that an enqueue of several steps will add, before its first step.
-- KEYS: the standard keys, see lib/core/keys
-- ARGV, for each job: id, options (JSON, as in job/enqueue)
-- Returns nil if job/enqueue would refuse none of them. Else as it would: the index of a job (from 1), the reason, its
--   subject, ''. An error is returned, and not raised, for a key of a wrong type.
-- Repeated: reads again.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/enqueue/queue_settings
--@include lib/group/place
--@include lib/group/join
--@include lib/batch/join
--@include lib/after/depend
--@include lib/batch/adder
--@include lib/batch/refusal
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
local asked = {}
for i = 1, #ARGV / 2 do
  asked[i] = cjson.decode(ARGV[2 * i])
end
local key_failure = check_keys(asked)
if key_failure then
  return key_failure
end
for i = 1, #asked do
  local reason, about = enqueue_refusal(ARGV[2 * i - 1], asked[i])
  if reason then
    return { i, reason, about, '' }
  end
end
return nil
