import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { defineJob } from 'nest-job-queue/core';
import { UsedDefinitions } from '#queue/validation/used-definitions.js';

const payload = z.object({ to: z.string() });

const ignore = () => undefined;

/** Makes the definitions of a queue, and the lines that it warns with. */
function used() {
  const lines: string[] = [];
  const logger = { log: ignore, error: ignore, warn: (line: string) => void lines.push(line) };
  return { lines, definitions: new UsedDefinitions({ name: 'mails', store: { logger } }) };
}

describe('two definitions of one name in a queue', () => {
  it('get one warning that names their users and their differences', () => {
    const { lines, definitions } = used();
    definitions.use(defineJob('email', { payload, maxAttempts: 5 }), '@JobHandler("email") on Mails.handle');
    definitions.use(defineJob('email', { payload: z.object({}), maxAttempts: 3 }), 'an enqueue');
    definitions.use(defineJob('email', { payload, priority: 3 }), 'an enqueue');
    expect(lines).toEqual([
      'Two definitions of the jobs "email" are in use in queue "mails", by @JobHandler("email") on Mails.handle and by an ' +
        'enqueue. They differ in the payload schema, maxAttempts. Define the jobs once, and import that definition in both places.',
    ]);
  });

  it('get none if they are equal, or have other names', () => {
    const { lines, definitions } = used();
    const backoff = { type: 'fixed', delayMs: 5 } as const;
    definitions.use(undefined, 'a handler without a definition');
    definitions.use(defineJob('email', { payload, backoff }), 'a handler');
    definitions.use(defineJob('email', { payload, backoff: { ...backoff } }), 'an enqueue');
    definitions.use(defineJob('sms', { payload }), 'an enqueue');
    expect(lines).toEqual([]);
  });
});
