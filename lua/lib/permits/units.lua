-- The units of shared limits that a claim may take, see docs/internals/limits.md, "Costs of single jobs".
-- fits(id): false if a limit has too few units for a job.
-- use_units(id): takes what a job costs from the units. Only a job that is taken uses them: a claim may leave one that fits.
-- within_units(taken, is_more): puts the taken jobs from the first that does not fit on back to the front. Returns the others,
--   and whether claimable jobs are left.
-- short: what the first job that did not fit costs, in the order of the limits; nil if all did.
-- costs_of(id): returns what a job costs, in the order of the limits.
-- Needs: job.
local limit_units, short, known_costs = cjson.decode(ARGV[#ARGV]), nil, {}

-- Returns what the enqueue of a job said for each limit. Another client may have spoilt it.
local function asked_costs(id)
  local stored = redis.pcall('HGET', job .. id, 'options')
  if type(stored) ~= 'string' or not string.find(stored, '"limitCosts":{', 1, true) then
    return {}
  end
  local is_read, options = pcall(cjson.decode, stored)
  local asked = is_read and type(options) == 'table' and options.limitCosts
  return type(asked) == 'table' and asked or {}
end

local function costs_of(id)
  if not known_costs[id] then
    local asked, costs = asked_costs(id), {}
    for i, each in ipairs(limit_units) do
      local name, usual = unpack(each)
      costs[i] = math.floor(math.min(1e6, math.max(1, tonumber(asked[name]) or usual)))
    end
    known_costs[id] = costs
  end
  return known_costs[id]
end

local function fits(id)
  for i, cost in ipairs(costs_of(id)) do
    if cost > limit_units[i][3] then
      short = short or costs_of(id)
      return false
    end
  end
  return true
end

local function use_units(id)
  for i, cost in ipairs(costs_of(id)) do
    limit_units[i][3] = limit_units[i][3] - cost
  end
end

local function within_units(taken, is_more)
  for from, id in ipairs(taken) do
    if not fits(id) then
--@include lib/place/put_back
      return taken, true
    end
    use_units(id)
  end
  return taken, is_more
end
