-- waits_of(waits): returns the waits of a job, each with name, kind, since, until_at ('' for none) and state. See docs/internals/signals.md.
-- signal_of(signals, name): returns the data, the request and the outcome of a signal; nil if there is none.
local function waits_of(waits)
  local all = {}
  for line in string.gmatch(waits or '', '[^\n]+') do
    -- Anchored: without that a long line of another program would be walked through from each of its letters.
    local name, kind, since, until_at, state = string.match(line, '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)$')
    if name then
      all[#all + 1] = { name = name, kind = kind, since = since, until_at = until_at, state = state }
    end
  end
  return all
end

local function signal_of(signals, name)
  local lines = '\n' .. (signals or '')
  local _, ends = string.find(lines, '\n' .. name .. '\t', 1, true)
  if ends then
    local request, outcome, data = string.match(lines, '^[^\t\n]*\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)', ends + 1)
    return data, request, outcome
  end
end
