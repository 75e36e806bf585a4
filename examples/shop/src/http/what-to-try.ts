/** Returns the text that is printed at the start. */
export function whatToTry(url: string, link: string, env = process.env): string {
  return `
The shop is open: ${link}

Open this link in a browser to govern its workers and watch its jobs, here and in the dashboard, or:

  curl ${url}/health
  curl ${url}/mails
  curl ${url}/mails -d to=grace@example.com -d text=Hello
  curl ${url}/webhooks -d event=order.paid -d failTimes=2
  curl ${url}/thumbnails -d product=poster -d width=320
  curl ${url}/invoices -d customer=Grace
  curl ${url}/reports -d year=2025

Each POST answers with the job's id, and with the paths of the job and of what it makes:

  curl ${url}/jobs/ID

One more worker, in another terminal:

  REDIS_URL=${env.REDIS_URL ?? 'redis://localhost:6379'} SHOP_DATA=${env.SHOP_DATA} npm run start:worker

Ctrl-C stops it.
`;
}
