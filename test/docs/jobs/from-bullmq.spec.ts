// The example of docs/from-bullmq.md, as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';

interface Audio {
  transcode(file: string): Promise<unknown>;
  concatenate(files: string[]): Promise<unknown>;
}

it('docs/from-bullmq.md: two names of one queue have a handler each', async () => {
  const { AudioHandlers, Audio } = await loadExample<{ AudioHandlers: Type; Audio: Type<Audio> }>(
    'from-bullmq.md',
    'audio',
  );
  const redis = await startOwnRedis();
  const app = await startApp({ jobs: { redis: redis.url }, providers: [AudioHandlers, Audio] });
  expect(await app.get(Audio).transcode('a.wav')).toEqual({ file: 'a.mp3' });
  expect(await app.get(Audio).concatenate(['a.mp3', 'b.mp3'])).toEqual({ file: 'a.mp3+b.mp3' });
  await app.close();
});
