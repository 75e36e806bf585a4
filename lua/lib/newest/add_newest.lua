-- add_newest(id, name, payload, options): adds one job as add_with_options does. Before or after it changes or ends the
--   older job of its unique key, by its options. See docs/internals/newest.md.
-- as_replacing(options): returns options for check_keys. A job that ends a waiting one uses the keys of a replacement.
-- Needs: lib/core/keys, lib/enqueue/add_with_options, lib/unique/owner.
--@include lib/newest/bound_delay
--@include lib/signal/parked
--@include lib/signal/forget_work
--@include lib/newest/end_waiting
--@include lib/newest/stop_running
local function as_replacing(options)
  if not options or not (options.unique_newest or options.unique_stop) then
    return options
  end
  local copy = { unique_replace = true }
  for option, value in pairs(options) do
    copy[option] = value
  end
  return copy
end

-- Replaces the owner of the key, if it waits. One that waits for the end of a stopped job goes on waiting for it.
local function replace_older(id, name, payload, options)
  local verdict, owner = resolve_unique(options)
  local before, waited, delay, since = nil, nil, options.delay_ms, nil
  if verdict == 'replace' then
    before, waited = open_before(owner)
  end
  if before then
    options.run_at_ms = never_ms
  elseif verdict == 'replace' and options.unique_max_delay then
    since = bound_delay(owner, options)
  end
  local outcome, detail, known_name = add_with_options(id, name, payload, options)
  if outcome == 'replace' and detail == owner then
    if waited then
      forget_work(job .. owner)
      leave_wait(owner, waited)
    end
    if before then
      wait_for(owner, before, delay)
    elseif since then
      note_wait(owner, since)
    end
  end
  return outcome, detail, known_name
end

local function add_newest(id, name, payload, options)
  if options and options.unique_replace then
    return replace_older(id, name, payload, options)
  end
  local verdict, owner, known_name = add_with_options(id, name, payload, options)
  if verdict ~= 'kept' or not (options.unique_newest or options.unique_stop) then
    return verdict, owner, known_name
  end
  local status = redis.call('HGET', job .. owner, 'status')
  if status == 'processing' and options.unique_stop then
    return stop_running(owner, id, name, payload, options)
  elseif (status == 'pending' or status == 'scheduled') and options.unique_newest then
    return end_waiting(owner, id, name, payload, options)
  end
  return verdict, owner, known_name
end
