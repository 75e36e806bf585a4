-- Checks all jobs of an enqueue, in which some may have options, and then adds each. Not a function: see lua/job/enqueue.
-- Needs: events, job, replies.
local asked, keys, last = {}, {}, #ARGV - #ARGV % 4 -- the options and the key of each job
local max_pending, max_pending_bytes = tonumber(ARGV[last + 1] or nil), tonumber(ARGV[last + 2] or nil)
local publish = events and ARGV[last + 3] or 'off'
local ranked, brings_limits = 0, false
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
for i = 1, last / 4 do
  local options = ARGV[4 * i] ~= '' and cjson.decode(ARGV[4 * i])
  asked[i], keys[i] = options, job .. ARGV[4 * i - 3]
  ranked = ranked + (options and (options.group or options.priority) and 1 or 0)
  brings_limits = brings_limits or options and options.group_limits
end
local key_failure = check_keys(asked)
if key_failure then
  return key_failure
end
look_for(keys)
expect_ranks(brings_limits and 1 or ranked) -- the limits of a group remember the sequence
for i = 1, #keys do
  local reason, about = enqueue_refusal(ARGV[4 * i - 3], asked[i])
  if reason then
    return { i, reason, about, '' }
  end
end
for i = 1, #keys do
  local verdict, detail, name = add_with_options(ARGV[4 * i - 3], ARGV[4 * i - 2], ARGV[4 * i - 1], asked[i])
  if verdict then
    local n = #replies
    replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = i, verdict, detail, name or ''
  end
end
--@include lib/enqueue/place_added
