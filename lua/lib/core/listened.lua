-- listened: whether events are published now. With publish = 'listened' it is so only with a subscriber.
-- with_results: whether results are published too, as with publish = 'listened+results'.
-- Needs: events, publish.
local with_results = publish == 'always+results' or publish == 'listened+results'
local listened = publish == 'always' or publish == 'always+results'
if publish == 'listened' or publish == 'listened+results' then
  listened = redis.call('PUBSUB', 'NUMSUB', events)[2] > 0 or redis.call('PUBSUB', 'NUMPAT') > 0
end
