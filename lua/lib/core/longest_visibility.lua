-- longest_visibility(): returns the longest visibility timeout in ms that a claim of this queue may have.
-- note_visibility(visibility): stores a longer one, before or with its first use.
-- Needs: sweep.
local usual_visibility = 30000 -- longer ones are noted

local function longest_visibility()
  return tonumber(redis.call('HGET', sweep, 'longest_visibility_ms') or nil) or usual_visibility
end

local function note_visibility(visibility)
  if visibility > longest_visibility() then
    redis.call('HSET', sweep, 'longest_visibility_ms', string.format('%d', visibility))
  end
end
