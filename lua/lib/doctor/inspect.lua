-- inspect(id, pending_times, processing_times): returns a job's fields and places. The caller counts its places in the
--   two lists.
-- fault_of(at): returns nil without a fault, else kind, found, expected. A claim of a client of the pattern takes two
--   steps. It belongs to the sweep, so it is not a fault.
-- Needs: lib/core/clock, lib/core/keys.
local longest_claim = 365 * 86400000
local status_in = { pending = 'pending', prioritized = 'pending', group = 'pending', scheduled = 'scheduled', claims = 'processing',
  processing = 'processing', dead = 'failed' }

local function inspect(id, pending_times, processing_times)
  local at = { id = id, key = job .. id, places = {} }
  local hash = redis.pcall('HMGET', at.key, 'status', 'payload', 'claim_token', 'priority', 'rank', 'due_at_ms',
    'failed_at_ms', 'group', 'after')
  if hash.err then
    at.other = redis.call('TYPE', at.key).ok
  else
    at.status, at.payload, at.token, at.priority = hash[1], hash[2], hash[3], hash[4]
    at.rank, at.due, at.failed_at, at.group, at.after = hash[5], hash[6], hash[7], hash[8], hash[9]
    at.hash = at.status or at.payload or redis.call('EXISTS', at.key) == 1
    at.ttl = at.hash and redis.call('PTTL', at.key)
  end
  at.is_kept = redis.call('ZSCORE', kept_results, id)
  at.expiry = tonumber(redis.call('ZSCORE', claims, id) or nil)
  local function note_place(place, times)
    for _ = 1, times do
      at.places[#at.places + 1] = place
    end
  end
  note_place('claims', at.expiry and 1 or 0)
  at.lacks_slot = at.expiry and at.group and not redis.call('ZSCORE', groups .. 'running:' .. at.group, id)
  at.is_unwatched = at.after and at.status == 'scheduled' and not redis.call('ZSCORE', awaiting, id)
  note_place('prioritized', redis.call('ZSCORE', prioritized, id) and 1 or 0)
  note_place('scheduled', redis.call('ZSCORE', scheduled, id) and 1 or 0)
  note_place('dead', redis.call('ZSCORE', dead, id) and 1 or 0)
  note_place('group', at.group and redis.call('ZSCORE', groups .. 'waiting:' .. at.group, id) and 1 or 0)
  note_place('pending', pending_times)
  note_place('processing', processing_times)
  return at
end

local function fault_outside(at)
  if at.status == 'completed' or at.status == 'cancelled' then
    if at.ttl == -1 and not at.is_kept then
      return 'lifetime', 'no expiry', 'an expiry, since it is ' .. at.status
    end
  elseif not (at.status == 'failed' and at.in_failed) then
    return 'orphan', 'status ' .. (at.status or 'none') .. ', in no place', 'in a place'
  end
end

local function fault_of(at)
  if not at.hash then
    if at.other then
      return 'ghost', 'a ' .. at.other .. ' in the place of the hash', 'a hash'
    elseif #at.places > 0 then
      return 'ghost', 'in ' .. table.concat(at.places, ' and ') .. ', without a hash', 'a hash'
    end
    return nil
  end
  if #at.places == 0 then
    return fault_outside(at)
  end
  local place, claimed = at.places[1], at.token and at.token ~= ''
  if #at.places > 1 then
    return 'double', 'in ' .. table.concat(at.places, ' and '), 'in one place'
  elseif place == 'processing' then
    return nil
  elseif at.status ~= status_in[place] then
    return 'status', at.status or 'none', status_in[place] .. ', since it is in ' .. place
  elseif place == 'claims' and not claimed then
    return 'token', 'none', 'a claim token, since it is in claims'
  elseif place ~= 'claims' and claimed then
    return 'token', 'a claim token', 'none, since it is in ' .. place
  elseif place == 'claims' and at.expiry > now + longest_claim then
    return 'claim', 'an expiry that never comes', 'an expiry'
  elseif at.lacks_slot then
    return 'slot', 'none in its group', 'a slot, since it is claimed'
  elseif at.is_unwatched and place == 'scheduled' then
    return 'after', 'no sweep looks at it', 'in awaiting, since it waits for others'
  elseif at.ttl >= 0 then
    return 'lifetime', 'expires in ' .. at.ttl .. ' ms', 'no expiry, since it is in ' .. place
  end
end
