// pg-boss with the fastest of its documented settings: batches, jobs without priorities, and the shortest poll. A batch
// larger than a thousand is unusual, but without it the poll bounds its rate.
import { createRequire } from 'node:module';
import PgBoss from 'pg-boss';

const QUEUE = 'bench';

export const name = 'pg-boss';
export const { version } = createRequire(import.meta.url)('pg-boss/package.json');
export const settings = {
  add: 'send with { db }, insert for many',
  worker: 'one work() with batchSize 5,000, priority off, and the shortest pollingIntervalSeconds, 0.5',
};
export const waiting = `SELECT count(*)::int AS count FROM pgboss.job WHERE state < 'active'`;
export const clear = ['TRUNCATE pgboss.job'];

export async function open({ pool, handler }) {
  const boss = new PgBoss({ db: { executeSql: (text, values) => pool.query(text, values) } });
  boss.on('error', (error) => console.error('pg-boss:', error.message));
  await boss.start();
  await boss.createQueue(QUEUE);
  if (handler) {
    const options = { batchSize: 5_000, priority: false, pollingIntervalSeconds: 0.5 };
    await boss.work(QUEUE, options, async (jobs) => {
      await Promise.all(jobs.map((job) => handler(job.data)));
    });
  }
  const inside = (client) => ({ executeSql: (text, values) => client.query(text, values) });
  return {
    add: (client, data) => boss.send(QUEUE, data, { db: inside(client) }),
    addMany: (client, payloads) =>
      boss.insert(
        payloads.map((data) => ({ name: QUEUE, data })),
        { db: inside(client) },
      ),
    close: () => boss.stop({ graceful: false, wait: true }),
  };
}
