-- correct_place(at): returns where a job belongs by its fields and places: one of its places, claims, front, scheduled
--   or dead. Without a payload it can only be dead. Otherwise the place that fits its status comes first.
-- Needs: lib/doctor/inspect.
local function correct_place(at)
  local claimed = at.token and at.token ~= ''
  if not at.payload or at.status == 'failed' then
    return 'dead'
  end
  for _, place in ipairs(at.places) do
    if status_in[place] == at.status and (place ~= 'claims' or claimed) then
      return place
    end
  end
  if at.expiry and claimed then
    return 'claims'
  elseif #at.places == 1 and not at.expiry then
    return at.places[1]
  elseif at.status == 'pending' or at.status == 'processing' then
    return at.status == 'processing' and claimed and #at.places == 0 and 'claims' or 'front'
  end
  return at.status == 'scheduled' and 'scheduled' or 'dead'
end
