-- record(): adds an entry to the stream for each job that changed.
-- Needs: most, prefix, server, stream, transition, lib/audit/changes.

-- Returns the error of this very transition, because a job keeps its last one.
local function error_of(change, last_error)
  local ended = change.from == 'processing' and (transition == 'fail' or transition == 'reclaim' or transition == 'adopt-foreign')
  if not last_error or not ended and change.to ~= 'failed' then
    return ''
  end
  local last = 200
  while last > 196 and string.find(last_error, '^[\128-\191]', last + 1) do -- no half a letter
    last = last - 1
  end
  return string.sub(last_error, 1, last)
end

local function record()
  local time = order[1] and server.call('TIME')
  for _, id in ipairs(order) do
    local change = changes[id]
    if change.to and (change.to ~= '' or change.from ~= '') then
      local name, attempts, worker, last_error = unpack(server.call('HMGET', prefix .. id, 'name', 'attempts', 'worker', 'last_error'))
      server.call('XADD', stream, 'MAXLEN', '~', most, '*', 'id', id, 'name', name or change.name or '', 'transition', transition,
        'from', change.from, 'to', change.to, 'attempt', attempts or change.attempts or '0', 'worker', worker or change.worker or '',
        'error', error_of(change, last_error), 'at', time[1] .. string.sub('00000' .. time[2], -6, -4))
    end
  end
end
