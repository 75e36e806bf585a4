-- refusal_of(id, options): returns why a new job cannot join its batch or wait for its `after`, and the cause's id. nil
--   if it can.
-- Returns why a new job cannot wait for these. Jobs of other queues were asked by lua/batch/depend.
-- Needs: job, lib/after/depend, lib/batch/adder, lib/batch/join.
local function after_refusal(ids, waiting)
  for _, id in ipairs(ids) do
    if not string.find(id, '\t', 1, true) then
      local status, dependents = status_of(id)
      local reason = refusal_after(status, dependents, waiting)
      if reason then
        return reason, id
      end
    end
  end
end

-- Returns the reason. options.added_by has the queue ('' for this one), the id and the token of the running member that adds
--   the job.
local function refusal_of(id, options)
  local batch, adder = options.batch, nil
  if options.added_by then
    local queue, member, token = unpack(options.added_by)
    if queue == '' and redis.call('EXISTS', job .. id) == 0 and not is_running(member, token) then
      return 'lost', member
    end
    adder = queue == '' and member or queue .. '\t' .. member
  end
  if batch and not string.find(batch, '\t', 1, true) then
    local reason = batch_refusal(batch, id, adder)
    -- A batch forgets its members some minutes after its end. A job that joined it names it as long as it lives.
    if reason and redis.call('HGET', job .. id, 'batch') ~= batch then
      return reason, batch
    end
  end
  if options.after and redis.call('EXISTS', job .. id) == 0 then
    if options.after_refusal then
      return unpack(options.after_refusal)
    end
    return after_refusal(options.after, id)
  end
end
