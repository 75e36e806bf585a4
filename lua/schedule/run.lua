#!lua
-- Enqueues the job of a schedule now, also of a resting one. The next due time stays as it is.
-- Transition: run
-- KEYS: the standard keys, see lib/core/keys
-- ARGV[1] schedule id
-- ARGV[2] id of the job
-- Returns added | exists | kept (the last job of a schedule without overlap is unfinished) | missing, then the id of
--   the new or existing job, and its name at its enqueue.
--   An error is returned, and not raised, if nothing was written because a key has a wrong type.
-- Repeated: exists.
--@include lib/core/keys
--@include lib/core/clock
--@include lib/core/rank
--@include lib/group/place
--@include lib/group/join
--@include lib/place/requeue
--@include lib/unique/owner
--@include lib/enqueue/options
--@include lib/core/write_job
--@include lib/enqueue/add_scheduled
--@include lib/enqueue/queue_settings
--@include lib/enqueue/check_keys
--@include lib/schedule/runs
local id, job_id = ARGV[1], ARGV[2]
local name, payload, options = unpack(redis.call('HMGET', schedule .. id, 'name', 'payload', 'options'))
if not name then
  return { 'missing' }
end
local failure = check_keys({ options ~= '' and cjson.decode(options) })
if failure then
  return failure
end
local verdict, made_id, made_name = add_scheduled(job_id, name, payload, options, id)
local prefix = '@schedule:' .. id .. ':'
if verdict == 'added' and string.sub(job_id, 1, #prefix) == prefix then
  note_run(id, schedule .. id, now_text .. '/' .. string.sub(job_id, #prefix + 1), 'pending')
end
place_groups()
return { verdict, made_id, made_name or name }
