// A server whose locale orders texts otherwise than a sorted set does, which goes by bytes.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import type { DeadLetterQuery } from '#queue/store/job-queries.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { queueOn } from '../../support/queue/queue-state.js';

/** Kept, because its making takes seconds. */
const folder = fileURLToPath(new URL('../../../.cache/locales', import.meta.url));

/** Returns whether the locale is there, or this machine can make it. */
function hasLocale(): boolean {
  const locale = join(folder, 'en_US.UTF-8');
  if (existsSync(locale)) return true;
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('localedef', ['-i', 'en_US', '-f', 'UTF-8', '--no-archive', `${locale}.${process.pid}`], {
      stdio: 'ignore',
    });
    renameSync(`${locale}.${process.pid}`, locale);
    return true;
  } catch {
    return existsSync(locale);
  }
}

// Skipped where localedef cannot make the locale, such as on Alpine: in the C locale all orders go by bytes.
const itWithLocale = hasLocale() ? it : it.skip;

async function redisInEnglish() {
  const { LC_ALL, LOCPATH } = process.env;
  Object.assign(process.env, { LC_ALL: 'en_US.UTF-8', LOCPATH: folder });
  const { url } = await startOwnRedis();
  for (const [name, value] of Object.entries({ LC_ALL, LOCPATH })) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  const redis = connect({}, url);
  expect(await redis.eval(`return 'a' < 'B' and 1 or 0`, 0)).toBe(1); // by bytes B comes first
  return redis;
}

itWithLocale('claims of groups and pages of dead letters go by bytes', async () => {
  const q = queueOn(await redisInEnglish());
  for (const group of ['gB', 'ga', 'gC']) for (const i of [0, 1]) await q.add(`${group}${i}`, { group });
  const claimed: string[] = [];
  for (let i = 0; i < 3; i++) claimed.push(...(await q.claim(2)).map(({ id }) => id));
  expect(claimed).toEqual(['gB0', 'gC0', 'ga0', 'gB1', 'gC1', 'ga1']);

  const scripts = q.scripts.deadLetters;
  q.broken = true;
  for (const id of ['dB', 'dC', 'da', 'db']) await q.redis.zadd(q.keys.dead, 5, id);
  const found: string[] = [];
  let place: DeadLetterQuery['place'];
  for (let i = 0; i < 9; i++) {
    const slice = await q.run(scripts.list({ order: 'oldest', place, looks: 1, most: 1, withJobs: false }));
    found.push(...slice.found.map(({ id }) => id));
    place = slice.next;
    if (!place) break;
  }
  expect(found).toEqual(['dB', 'dC', 'da', 'db']);
});
