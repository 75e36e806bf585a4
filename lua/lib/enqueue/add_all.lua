-- Checks all jobs of an enqueue, in which some may have options, and then adds each. Not a function: see lua/job/enqueue.
-- Needs: events, replies.
local asked, last = {}, #ARGV - #ARGV % 4
local max_pending, max_pending_bytes = tonumber(ARGV[last + 1] or nil), tonumber(ARGV[last + 2] or nil)
local publish = events and ARGV[last + 3] or 'off'
--@include lib/enqueue/queue_settings
--@include lib/enqueue/add_with_options
--@include lib/enqueue/check_keys
--@include lib/enqueue/refusal
for i = 1, last, 4 do
  asked[i] = ARGV[i + 3] ~= '' and cjson.decode(ARGV[i + 3])
end
local key_failure = check_keys(asked)
if key_failure then
  return key_failure
end
for i = 1, last, 4 do
  local reason, about = enqueue_refusal(ARGV[i], asked[i])
  if reason then
    return { (i + 3) / 4, reason, about, '' }
  end
end
for i = 1, last, 4 do
  local verdict, detail, name = add_with_options(ARGV[i], ARGV[i + 1], ARGV[i + 2], asked[i])
  if verdict then
    local n = #replies
    replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = (i + 3) / 4, verdict, detail, name or ''
  end
end
--@include lib/enqueue/place_added
