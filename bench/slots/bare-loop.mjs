// The most that a worker could reach: the same handlers in a loop for each slot, without a queue.

/** Runs `total` jobs in `concurrency` loops. Returns the time and the CPU time in µs. */
export async function runBareLoop({ concurrency, total, handler, monotonicUs }) {
  let next = 0;
  const cpu = process.cpuUsage();
  const started = monotonicUs();
  const slot = async () => {
    while (next < total) await handler({ n: next++, t: started });
  };
  await Promise.all(Array.from({ length: concurrency }, slot));
  const { user, system } = process.cpuUsage(cpu);
  return { us: monotonicUs() - started, cpuUs: user + system };
}
