-- Looks at each queue alone, because a command reaches one slot only. A statement, only for a Cluster.
-- Needs: keys, look, reply, width.
do
  for i = 1, #keys / width do
    look(i, i)
  end
  return reply
end
