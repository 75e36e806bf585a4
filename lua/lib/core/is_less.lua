-- is_less(one, other): orders texts by their bytes, as a sorted set does. The operator < follows the locale of the server.
local function is_less(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then
      return a < b
    end
  end
  return #one < #other
end
