-- Adds the keys of other slots to `keys`. A call cannot declare them, so they are its last arguments. The very last one is
-- their number. Only for a Cluster.
-- Needs: keys.
local undeclared = tonumber(table.remove(ARGV))
local arguments = #ARGV - undeclared
for i = arguments + 1, arguments + undeclared do
  keys[#keys + 1], ARGV[i] = ARGV[i], nil
end
