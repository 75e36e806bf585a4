/** The settings in the environment. `main.ts` stores its flags there, so that its workers have the same. */
export const settings = {
  /** The queue of the four kinds of jobs of the control page. */
  queue: process.env.SHOP_QUEUE || 'jobs',
  /** The time a claim lasts, in ms: short enough to watch it expire. */
  visibilityMs: Number(process.env.SHOP_VISIBILITY_MS || 5_000),
  /** The interval at which expired claims are reclaimed, in ms. 0: only on request. */
  reclaimMs: Number(process.env.SHOP_RECLAIM_MS || 5_000),
  /** The number of jobs of the queue that a process runs at once. */
  concurrency: Number(process.env.SHOP_CONCURRENCY || 10),
  /** True if there is no Redis: one process serves the page and runs the jobs, in its memory. */
  inMemory: process.env.REDIS_URL === 'memory',
  /** True if this process runs jobs; false if it only serves HTTP. */
  works: process.env.SHOP_WORKS !== 'no',
  /** True if the dashboard is filled, see `seeds`: only on a Redis that was started for this run. */
  seeds: process.env.SHOP_SEEDS === 'yes',
  /** A Redis that was started for this run need not survive a crash, so no warning applies. */
  audit: process.env.REDIS_THROWAWAY === 'yes' ? ('off' as const) : ('warn' as const),
};
