-- increment(value): returns a counter field plus one; an invalid value counts as 0.
local function increment(value)
  return string.format('%d', (tonumber(value) or 0) + 1)
end
