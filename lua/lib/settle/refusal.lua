-- refuse(key, reason, attempts, max_attempts, bytes, part): returns the verdict on a job that must not run. It is the reason, a
--   space, and details as JSON.
-- details: attempts used; max_attempts; started; last_error; bytes of an oversized payload.
--   part: another one that is too long. Its bytes have a space and its start behind them.
--   unmet: the job that should have completed before, and its end
-- Needs: lib/core/read.
local function refuse(key, reason, attempts, max_attempts, bytes, part)
  local last_error, interruptions, snoozes, unmet = unpack(read(key, 'last_error', 'interruptions', 'snoozes', 'unmet'))
  -- As text, since a number that JSON does not have would end the script halfway.
  return reason .. ' ' .. cjson.encode({ attempts = tostring(attempts), max_attempts = tostring(max_attempts),
    started = attempts > 0 or interruptions ~= false or snoozes ~= false, last_error = last_error and string.sub(last_error, 1, 8192) or nil,
    unmet = unmet and string.sub(unmet, 1, 2048) or nil, part = part, bytes = bytes and (part and bytes or string.format('%d', bytes)) or nil })
end
