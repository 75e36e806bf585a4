// The cost figures of a job, read from a result of the scenarios.

export function costFigures(of, text) {
  return {
    [`redis.us.${of}`]: { unit: 'µs/job', better: 'less', text: `Redis CPU, ${text}` },
    [`node.us.${of}`]: { unit: 'µs/job', better: 'less', text: `Node CPU, ${text}` },
    [`wire.${of}`]: { unit: 'bytes/job', better: 'less', text: `bytes on the wire, ${text}` },
    [`redis.busy.${of}`]: { unit: 'share', better: 'more', text: `how busy Redis was, ${text}` },
  };
}

/** Returns the values of those of the `figures` that belong to the speed `id` and the costs `of`. */
export function pick(figures, result, id, of) {
  const values = {
    [id]: result.perSecond,
    [`redis.us.${of}`]: result.redisUs,
    [`node.us.${of}`]: result.nodeUs,
    [`wire.${of}`]: result.bytes,
    [`redis.busy.${of}`]: result.redisBusy,
  };
  return Object.fromEntries(Object.entries(values).filter(([name]) => name in figures));
}
