import { expect, it } from '@jest/globals';
import { causesOf, sharedErrors, sharedWords, type KindOfQueue } from '#inspect/shared-errors.js';
import { rootCauseOf } from '#queue/errors/error-kind.js';
import { shardNames } from '#queue/model/spread.js';
import type { StoredError } from '#queue/errors/stored-error.js';

const NOW = Date.UTC(2030, 0, 1, 20, 0);
const minutesAgo = (minutes: number) => new Date(NOW - minutes * 60_000);

/** Returns the root cause of an error that the handler wrapped in its own words. */
function refused(own: string, address = '10.0.0.7:443'): StoredError {
  const cause = { name: 'Error', code: 'ECONNREFUSED', message: `connect ECONNREFUSED ${address}` };
  return { name: 'Error', message: own, cause };
}

function kindOf(queue: string, kind: string, error: StoredError | undefined, more: Partial<KindOfQueue> = {}) {
  const times = { firstAt: minutesAgo(8), lastAt: minutesAgo(1) };
  const cause = error && rootCauseOf(error);
  return { queue, kind, count: 3, lastHour: 3, ...times, ...(error && { error: error.message }), cause, ...more };
}

const deploy = { kind: 'deploy', version: '2.4.0', at: new Date(minutesAgo(8).getTime() - 12_000) } as const;

it('makes one of the kinds whose root cause is the same, whatever the handlers said', () => {
  const kinds = [
    kindOf('payment', 'a1', refused('Payment failed'), { count: 446 }),
    kindOf('webhook', 'b2', refused('Could not deliver'), { firstAt: minutesAgo(7) }),
    kindOf('invoice', 'c3', refused('No invoice')),
    kindOf('email', 'd4', { name: 'Error', message: '550 no such user' }),
  ];
  const found = sharedErrors(kinds, [deploy], NOW);
  expect(found.map((each) => sharedWords(each, NOW))).toEqual([
    'connect ECONNREFUSED 10.0.0.7:443 in payment, webhook, invoice since 19:52 UTC, 12 s after version 2.4.0',
  ]);
  expect(found[0]).toMatchObject({ count: 452, queues: ['payment', 'webhook', 'invoice'] });
});

it('come by the deaths of the last hour, then by all deaths', () => {
  const kinds = ['few', 'many', 'most', 'recent'].map((kind, i) =>
    kindOf('a', `@${kind}`, undefined, { count: i === 3 ? 1 : i + 1, lastHour: i === 3 ? 9 : 3 }),
  );
  expect(causesOf(kinds).map(({ key }) => key)).toEqual(['a @recent', 'a @most', 'a @many', 'a @few']);
});

it('parts two services that are down', () => {
  const kinds = [
    kindOf('payment', 'a1', refused('Payment failed')),
    kindOf('search', 'b2', refused('Search failed', '10.0.0.9:9200')),
  ];
  expect(sharedErrors(kinds, [], NOW)).toEqual([]);
  expect(causesOf(kinds)).toHaveLength(2);
});

it('joins encrypted errors by their kind, and not the ends that no error made', () => {
  const found = ['a1', '@crash', '~a1'].map((kind) =>
    sharedErrors([kindOf('payment', kind, undefined), kindOf('webhook', kind, undefined)], [], NOW),
  );
  expect(found.map(({ length }) => length)).toEqual([1, 0, 0]);
});

it('leaves out a kind of which nobody died for an hour', () => {
  const old = kindOf('webhook', 'b2', refused('Could not deliver'), { lastAt: minutesAgo(61) });
  expect(sharedErrors([kindOf('payment', 'a1', refused('Payment failed')), old], [], NOW)).toEqual([]);
});

it('leaves out an error of the shards of one queue', () => {
  const [first, second] = shardNames('payment', 2).map((name) => kindOf(name, 'a1', refused('Payment failed')));
  expect(sharedErrors([first!, second!], [], NOW)).toEqual([]);
});

it('names the last of several deploys', () => {
  const kinds = [kindOf('a', 'a1', refused('a')), kindOf('b', 'b2', refused('b'))];
  const earlier = { ...deploy, version: '2.3.0', at: new Date(deploy.at.getTime() - 10_000) };
  expect(sharedErrors(kinds, [earlier, deploy], NOW)[0]!.deploy).toMatchObject({ version: '2.4.0' });
});

it('names no deploy that came long before, or after', () => {
  const kinds = [kindOf('a', 'a1', refused('a')), kindOf('b', 'b2', refused('b'))];
  const marks = [{ ...deploy, at: minutesAgo(30) }, { ...deploy, at: minutesAgo(2) }]; // prettier-ignore
  expect(sharedErrors(kinds, marks, NOW)[0]).not.toHaveProperty('deploy');
});
