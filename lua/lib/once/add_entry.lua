-- add_entry(index, at, options): adds the job of the entry at ARGV[at], and notes its mark. If it is not added, later
--   entries of its group wait too.
-- try_entry(index, at, options): does so. An error at the content of the entry becomes its reply, and nothing of its job
--   stays. An error of the whole script would leave the jobs before it in no place.
-- reply(index, verdict, text, name): notes the reply to an entry.
-- Needs: added, job, marked, marks, replies, lib/core/clock, lib/enqueue/add_with_options, lib/enqueue/known_ids,
--   lib/enqueue/leave_plain, lib/enqueue/refusal.
local held_groups = {}
local gets_no_mark = { full = true, full_bytes = true, group_full = true, group_full_bytes = true }

local function reply(index, verdict, text, name)
  local n = #replies
  replies[n + 1], replies[n + 2], replies[n + 3], replies[n + 4] = index, verdict, text or '', name or ''
end

-- Writes what the job had elsewhere. A repeat finds it, and leaves it.
local function write_ran(id, ran)
  if redis.call('HSETNX', job .. id, 'attempts', string.format('%d', ran.attempts)) == 1 then
    redis.call('HSET', job .. id, 'errors', string.format('%d', ran.errors), 'crashes', string.format('%d', ran.crashes))
    leave_plain(job .. id)
  end
end

-- Adds a job. A forwarding record of a move makes way for a job that comes back, which must be new. If the job is refused, the
-- record stays.
local function add_over_forwarding(id, name, payload, options)
  if not (options and options.must_be_new) or redis.call('HEXISTS', job .. id, 'moved') == 0 then
    return add_with_options(id, name, payload, options)
  end
  local record, lasts = redis.call('HGETALL', job .. id), redis.call('PTTL', job .. id)
  redis.call('UNLINK', job .. id)
  local verdict, detail, known_name = add_with_options(id, name, payload, options)
  if verdict then
    redis.call('HSET', job .. id, unpack(record))
    redis.call('PEXPIRE', job .. id, string.format('%d', math.max(1, lasts)))
  end
  return verdict, detail, known_name
end

local function add_entry(index, at, options)
  local group = options and options.group or ''
  if held_groups[group] then
    return reply(index, 'held')
  end
  local reason, about = enqueue_refusal(ARGV[at + 1], options)
  if reason then
    held_groups[group] = group ~= ''
    return reply(index, reason, about)
  end
  local verdict, detail, name = add_over_forwarding(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], options)
  if verdict then
    reply(index, verdict, detail, name)
  elseif options and options.ran then
    write_ran(ARGV[at + 1], options.ran)
  end
  if gets_no_mark[verdict] or verdict and options and options.must_be_new and string.sub(verdict, 1, 6) == 'exists' then
    held_groups[group] = group ~= ''
  else
    marks[#marks + 1], marks[#marks + 2], marked[ARGV[at]] = now_text, ARGV[at], true
  end
end

local function try_entry(index, at, options)
  local before, id = added, ARGV[at + 1]
  local is_done, failure = pcall(add_entry, index, at, options)
  if is_done then
    return
  end
  if written[id] and not marked[ARGV[at]] then
    redis.call('UNLINK', job .. id)
    written[id], added = nil, before
  end
  local group = type(options) == 'table' and options.group or ''
  held_groups[group] = group ~= ''
  reply(index, 'broken', type(failure) == 'table' and failure.err or failure)
end
