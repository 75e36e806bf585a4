// Reports a process that ended by itself, even if the run stops or restarts it before looking.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { testRedisUrl } from '../../support/redis/redis.js';
import { Fleet, isAsked } from '../../../tools/chaos/run/fleet.js';
import { Resources } from '../../../tools/chaos/watch/resources.js';

const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('reports a process that ended before it was killed, and none that was killed or stopped', async () => {
  const common = { concurrency: 1, batch: 1, rate: 1, backlog: 1, jobs: 0, load: false };
  const line = { kind: 'server', url: testRedisUrl() } as const;
  const fleet = new Fleet(
    { line, urls: [line.url], folder, queue: `fleet-${process.pid}`, seed: 1, proxied: false, common },
    new Resources(),
  );
  try {
    await fleet.add(['fifo-worker', 'crashed'], ['fifo-worker', 'killed'], ['fifo-worker', 'stopped']);
    const [crashed, killed, stopped] = fleet.slots;
    const exit = once(crashed!.child!, 'exit');
    process.kill(crashed!.child!.pid!, 'SIGABRT');
    await exit;
    await Promise.all([fleet.kill(crashed!), fleet.kill(killed!), fleet.stop(stopped!)]);
    await fleet.start(crashed!);
    expect(fleet.exits).toEqual(['crashed ended by itself: SIGABRT']);
  } finally {
    await fleet.close();
  }
}, 60_000);

it.each<[what: string, ending: 'stop' | 'kill' | undefined, code: number | null, signal: NodeJS.Signals | null]>([
  ['ended without being asked', undefined, 0, null],
  ['failed while it was asked to stop', 'stop', 1, null],
  ['was killed while it was asked to stop', 'stop', null, 'SIGKILL'],
  ['failed just before it was killed', 'kill', 1, null],
])('does not take a process for one that was asked that %s', (_, ending, code, signal) => {
  expect(isAsked(ending, code, signal)).toBe(false);
});
