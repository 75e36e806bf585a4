/** Returns the text that is printed at the start. */
export function whatToTry(url: string, link: string, env = process.env): string {
  const redis = env.REDIS_URL ?? 'redis://localhost:6379';
  const oneMore =
    redis === 'memory'
      ? 'There is no Redis, so one process does everything, in its memory. With Redis or Docker npm start shows more. Jobs'
      : `One more worker:\n\n  REDIS_URL=${redis} SHOP_DATA=${env.SHOP_DATA} npm run start:worker\n\nRedis`;
  const watch = redis === 'memory' ? 'watch its jobs run' : 'watch a worker die while its job lives on';
  const seeded =
    env.SHOP_SEEDS === 'yes' ? '\nIts dashboard has an hour of history: one queue is stuck, one fails.' : '';
  return `
The shop is open: ${link}

Open this link in a browser, and ${watch}.${seeded}

Or, in another terminal:

  curl ${url}/health
  curl ${url}/mails
  curl ${url}/mails -d to=grace@example.com -d text=Hello
  curl ${url}/webhooks -d event=order.paid -d failTimes=2
  curl ${url}/thumbnails -d product=poster -d width=320
  curl ${url}/invoices -d customer=Grace
  curl ${url}/reports -d year=2025

Each POST answers with the job's id, and with the paths of the job and of what it makes:

  curl ${url}/jobs/ID

${oneMore}: ${addressOf(redis)}${env.REDIS_SOURCE ? ` (${env.REDIS_SOURCE})` : ''}. Ctrl-C stops all.
`;
}

/** Returns an address without a password. */
function addressOf(redis: string): string {
  if (redis === 'memory') return 'lost at the end';
  if (!URL.canParse(redis)) return 'by REDIS_URL';
  const { protocol, host, pathname } = new URL(redis);
  return `${protocol}//${host}${pathname}`;
}
