-- Remembers the ids of completed jobs that callers gave. Not a function: see lua/attempt/complete.
-- Needs: owned.
--@include lib/ids/remember
for i = 1, #owned, 2 do
  owned[i], owned[i + 1] = score_of(tonumber(owned[i]), 'completed'), mark_of(owned[i + 1])
end
remember(owned, tonumber(ARGV[5]))
