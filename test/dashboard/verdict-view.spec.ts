// The one sentence on top of the dashboard: the worse of what is said of Redis and of the queues.
import { describe, expect, it } from '@jest/globals';
import { overallVerdict, verdictView } from '#dashboard/live/verdict-view.js';
import type { QueueView, VerdictView } from '#dashboard/views/views.js';
import { LOOK_AT_GROUPS } from '#inspect/limit-rules.js';
import type { Severity } from '#inspect/queue-signs.js';

const queue = (severity: VerdictView['severity']) =>
  ({ name: 'email', verdict: { severity, sentence: '`email` speaks.' } }) as QueueView;
const server = (severity: Severity) => ({ severity, summary: 'Redis speaks', next: 'look at it' });

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

  it('is that of the queues where nothing is known of Redis', () => {
    expect(overallVerdict(null, [queue('warning')]).sentence).toBe('`email` speaks.');
  });
});

describe('the verdict on a queue', () => {
  const verdict = { queue: 'email', severity: 'notice', state: 'limited', summary: 'limited' } as const;

  it('leads to the groups where they are the next step', () => {
    expect(verdictView({ ...verdict, next: LOOK_AT_GROUPS })).toMatchObject({
      remedy: 'Look at the groups whose jobs wait longest.',
      remedyView: 'groups',
    });
  });

  it('leads nowhere with another next step', () => {
    expect(verdictView({ ...verdict, next: 'add workers' })).not.toHaveProperty('remedyView');
  });
});
