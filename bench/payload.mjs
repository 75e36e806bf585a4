// The payloads of all contestants: the same objects, about 60 bytes and about 1 KB of JSON.

const filler = Array.from({ length: 47 }, (_, i) => `line ${String(i).padStart(3, '0')} of a body`).join('\n');

/**
 * One payload. `n` numbers the job (the worker checks with it that every job ran exactly once) and `t` is the
 * instant of its enqueue on the machine's monotonic clock, for latency.
 */
export function payload(n, size = 'small') {
  const small = { n, t: monotonicUs(), to: 'ada@example.com', kind: 'welcome' };
  return size === 'small' ? small : { ...small, body: filler };
}

/** Microseconds of the monotonic clock, which all processes of one machine share. */
export function monotonicUs() {
  return Math.round(Number(process.hrtime.bigint()) / 1000);
}
