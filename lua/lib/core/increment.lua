-- increment(value): a counter field plus one, also where it holds nonsense.
local function increment(value)
  return string.format('%d', (tonumber(value) or 0) + 1)
end
