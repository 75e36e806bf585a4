// graphile-worker with the fastest of its documented settings: its SQL function in the transaction, and many jobs at once.
import { createRequire } from 'node:module';
import { Logger, run, runMigrations } from 'graphile-worker';

export const name = 'graphile-worker';
export const { version } = createRequire(import.meta.url)('graphile-worker/package.json');
export const settings = {
  add: 'SELECT graphile_worker.add_job(…), by whose trigger it notifies the workers',
  worker: 'run() with concurrentJobs 24, localQueue of 500, completeJobBatchDelay 0; woken by NOTIFY',
};
export const waiting = 'SELECT count(*)::int AS count FROM graphile_worker._private_jobs';
export const clear = ['TRUNCATE graphile_worker._private_jobs'];

const preset = {
  worker: { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
};

export async function open({ pool: pgPool, handler }) {
  const logger = new Logger(() => (level, message) => level === 'error' && console.error(message));
  await runMigrations({ pgPool, logger });
  const taskList = { bench: (payload) => handler(payload) };
  const runner = handler && (await run({ pgPool, preset, noHandleSignals: true, taskList, logger }));
  return {
    add: (client, payload) =>
      client.query(`SELECT graphile_worker.add_job('bench', $1)`, [JSON.stringify(payload)]),
    addMany: (client, payloads) =>
      client.query(`SELECT graphile_worker.add_job('bench', payload) FROM json_array_elements($1) AS payload`, [
        JSON.stringify(payloads),
      ]),
    close: async () => runner?.stop(),
  };
}
