// A shop's responses while Redis is away: always 503, with a body that says why.
import { expect } from '@jest/globals';

const AWAY = /^Redis does not answer\. Nothing is lost/;
const NOT_WRITTEN = /^Enqueue to "\w+" failed: .*Nothing was written\./;

/** The calls that need Redis, each with what its answer says. Calls to the workers still take effect, and say so. */
const SAID: [call: string, form: Record<string, string>, message: RegExp][] = [
  ['GET /jobs', {}, AWAY],
  ['GET /jobs/0123456789abcdef', {}, AWAY],
  ['GET /stats', {}, AWAY],
  ['POST /enqueue', {}, AWAY],
  ['POST /reclaim', {}, AWAY],
  ['POST /reset', {}, AWAY],
  ['POST /workers/crash', {}, AWAY],
  ['POST /workers/configure', { fail_rate: '0' }, /^The conditions are set\. Redis does not answer/],
  ['POST /workers/start', { size: '3' }, /^There are to be 3 workers\. Redis does not answer/],
  ['POST /mails', { to: 'ada@example.com' }, NOT_WRITTEN],
  ['POST /webhooks', { event: 'order.paid' }, NOT_WRITTEN],
  ['POST /thumbnails', {}, NOT_WRITTEN],
  ['POST /invoices', { customer: 'Ada' }, NOT_WRITTEN],
  ['POST /reports', {}, NOT_WRITTEN],
];

/** Makes all calls at once and checks the responses. Enqueues by the library take its `enqueueTimeoutMs`, 5 s. */
export async function expectAwayAnswers(url: string): Promise<void> {
  const answers = await Promise.all(
    SAID.map(async ([call, form]) => {
      const [method, path] = call.split(' ');
      const body = method === 'POST' ? new URLSearchParams(form) : undefined;
      const response = await fetch(url + path, { method, body });
      return [call, response.status, await response.json()];
    }),
  );
  const expected = SAID.map(([call, , message]) => [
    call,
    503,
    { statusCode: 503, error: 'Service Unavailable', message: expect.stringMatching(message) },
  ]);
  expect(answers).toEqual(expected);
}
