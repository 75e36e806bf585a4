// The one sentence on top of the dashboard: the worse of what is said of Redis and of the queues.
import { describe, expect, it } from '@jest/globals';
import { outboxView, overallVerdict, worseFact } from '#dashboard/live/verdict-view.js';
import type { QueueVerdictView, VerdictView } from '#dashboard/views/views.js';
import { worstFirst, type RankedQueue } from '#inspect/verdict.js';
import type { Severity } from '#inspect/queue-signs.js';

const queue = (severity: Severity): QueueVerdictView => ({
  name: 'email',
  verdict: { severity, sentence: '`email` speaks.' },
});
const server = (severity: Severity) => ({ severity, summary: 'Redis speaks', next: 'look at it' });

const row = (name: string, severity: Severity, harm = 0): QueueVerdictView & RankedQueue => ({
  name,
  verdict: { severity, sentence: `${name} speaks.` },
  harm,
});
const pair = (harm: number) => [row('b', 'critical', harm), row('a', 'critical', 1_000)];

describe('the sentence on Redis and all queues', () => {
  it.each<[Severity, VerdictView['severity'], string]>([
    ['warning', 'critical', '`email` speaks.'],
    ['critical', 'critical', 'Redis speaks.'],
    ['warning', 'warning', 'Redis speaks.'],
    ['critical', 'warning', 'Redis speaks.'],
    ['warning', 'ok', 'Redis speaks.'],
    ['ok', 'critical', '`email` speaks.'],
    ['ok', 'warning', '`email` speaks.'],
  ])('with Redis %s and a queue %s it is %j', (ofServer, ofQueue, sentence) => {
    expect(overallVerdict(server(ofServer), [queue(ofQueue)]).sentence).toBe(sentence);
  });

  it('has the remedy of the one it speaks of', () => {
    expect(overallVerdict(server('critical'), [queue('ok')])).toEqual({
      severity: 'critical',
      sentence: 'Redis speaks.',
      remedy: 'Look at it.',
    });
  });

  it('is that of the outbox where this is worse than Redis', () => {
    const outbox = { severity: 'critical' as const, summary: 'the outbox waits: 2 rows', cause: 'Redis is away' };
    const sentenceOf = (ofServer: Severity | null) =>
      overallVerdict(worseFact(ofServer && server(ofServer), outbox), [queue('ok')]).sentence;
    expect(sentenceOf('warning')).toBe('The outbox waits: 2 rows: Redis is away.');
    expect(sentenceOf(null)).toBe('The outbox waits: 2 rows: Redis is away.');
    expect(sentenceOf('critical')).toBe('Redis speaks.');
    expect(worseFact(null, { severity: 'ok', summary: 'the outbox flows' })).toBeNull();
  });

  it('counts the queues that need a look beside what it speaks of', () => {
    const outbox = { severity: 'critical' as const, summary: 'the outbox waits: 2 rows' };
    const all = [queue('warning'), queue('critical'), queue('notice'), queue('ok')];
    expect(overallVerdict(worseFact(null, outbox), all)).toMatchObject({
      sentence: 'The outbox waits: 2 rows.',
      more: 2,
    });
    expect(overallVerdict(server('critical'), [queue('ok')])).not.toHaveProperty('more');
  });

  it('has the outbox as a row', () => {
    const outbox = { severity: 'warning' as const, summary: 'the outbox waits: 2 rows', cause: 'Redis is away' };
    expect(outboxView({ ...outbox, next: 'remove the cause; committed rows stay until then' })).toEqual({
      severity: 'warning',
      sentence: 'The outbox waits: 2 rows: Redis is away.',
      remedy: expect.stringMatching(/^Remove the cause/),
      remedyAt: { at: 'outbox' },
    });
  });

  it('is that of the queues where nothing is known of Redis', () => {
    expect(overallVerdict(null, [queue('warning')]).sentence).toBe('`email` speaks.');
  });
});

describe('queues', () => {
  const rows = [
    row('calm', 'ok', 90_000),
    row('aged', 'ok'),
    row('noted', 'notice'),
    row('few', 'critical', 4),
    row('warned', 'warning', 1_000_000),
    row('many', 'critical', 40_000),
  ];

  it('come worst first, and then where more jobs died or are late', () => {
    const sorted = rows.toSorted(worstFirst);
    expect(sorted.map(({ name }) => name)).toEqual(['many', 'few', 'warned', 'noted', 'aged', 'calm']);
    expect(overallVerdict(null, sorted)).toMatchObject({ sentence: 'many speaks.', more: 2 });
  });

  it('keep their order while figures change a little', () => {
    for (const harm of [900, 1_000, 1_100]) {
      expect(
        pair(harm)
          .toSorted(worstFirst)
          .map(({ name }) => name),
      ).toEqual(['a', 'b']);
    }
  });

  it.each<[sentence: string, rows: QueueVerdictView[]]>([
    ['All 2 queues flow.', [row('a', 'ok'), row('b', 'ok')]],
    ['2 of 3 queues flow, 1 is held back.', [row('a', 'ok'), row('b', 'ok'), row('resting', 'notice', 10_000)]],
    ['1 of 3 queues flows, 2 are held back.', [row('a', 'ok'), row('b', 'notice'), row('c', 'notice')]],
    ['All 2 queues are held back.', [row('b', 'notice'), row('c', 'notice')]],
    ['resting speaks.', [row('resting', 'notice', 10_000)]],
  ])('are called well only if no pause and no limit holds them back: %s', (sentence, shown) => {
    const isHeld = shown.some(({ verdict }) => verdict.severity === 'notice');
    expect(overallVerdict(null, shown)).toMatchObject({ severity: isHeld ? 'notice' : 'ok', sentence });
  });

  it('are not called idle over fresh dead letters', () => {
    const verdict = {
      severity: 'notice',
      sentence: '`mail` is idle; 25 died.',
      remedyAt: { at: 'jobs', state: 'failed' },
    } as const;
    expect(overallVerdict(null, [row('calm', 'ok'), { name: 'mail', verdict }])).toBe(verdict);
  });
});
