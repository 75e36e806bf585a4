// The rows of `top` from the chosen queue on.
import { PassThrough } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Output } from '#cli/output.js';
import { type QueueOverview, overviewText } from '#cli/overview.js';

const NAMES = ['mailbox', 'mail-1', 'mail-2', 'mail-3', 'mail-4', 'mail-5', 'email', 'mail'];

it('begins five rows above the queue of exactly that name', () => {
  const queues = NAMES.map((queue): QueueOverview => ({
    verdict: { queue, severity: 'ok', state: 'flowing', summary: `${queue} flows` },
    figures: undefined,
  }));
  const stdout = Object.assign(new PassThrough(), { isTTY: false });
  const out = new Output({ stdin: new PassThrough(), stdout, stderr: stdout, env: {} }, false, 0);
  const text = overviewText({ server: undefined, queues }, 'none', out, {
    verdicts: 'worst above',
    selection: { queue: 'mail' },
  });
  const shown = typeof text === 'object' ? text.value : String(text);
  expect(shown).toContain('mail flows');
  expect(shown).toContain('2 more above');
});
