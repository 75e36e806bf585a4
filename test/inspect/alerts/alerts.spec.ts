import { describe, expect, it } from '@jest/globals';
import { alertsOf, outboxAlertOf, parseRecord, type AlertFacts } from '#inspect/alerts.js';
import type { ErrorKind } from '#queue/dead-letters/error-kinds.js';

const MINUTE = 60_000;
const verdicts = {
  ok: { queue: 'email', severity: 'ok', state: 'idle', summary: 'idle' },
  notice: { queue: 'email', severity: 'notice', state: 'flowing', summary: 'flowing: 1 waiting, 3 died' },
  warning: {
    queue: 'email',
    severity: 'warning',
    state: 'paused',
    summary: 'paused: 3 waiting',
    next: 'resume it',
  },
  critical: {
    queue: 'email',
    severity: 'critical',
    state: 'stuck',
    summary: 'stuck: 3 waiting for 6 min, no worker',
    cause: 'no live worker serves `email`',
    next: 'start a worker',
  },
} as const satisfies Record<string, AlertFacts['verdict']>;

function kind(name: string, isNew = true): ErrorKind {
  const at = new Date(0);
  return { kind: name, count: 2, lastHour: 2, firstAt: at, lastAt: at, isNew, error: `no user ${name}` };
}

/** Returns new kinds. */
function newKinds(begin: string, count: number): ErrorKind[] {
  return Array.from({ length: count }, (_, i) => kind(`${begin}${i}`));
}

/** Returns the time of a minute. */
function dateOf(minute: number): Date {
  return new Date(minute * MINUTE);
}

/** Plays looks at a queue: the minute, the verdict, its kinds of error. Returns the texts of each look. */
function play(...looks: [atMin: number, severity: keyof typeof verdicts, kinds?: ErrorKind[]][]): string[][] {
  let record = '';
  return looks.map(([atMin, severity, kinds = []]) => {
    const facts = { nowMs: atMin * MINUTE, verdict: verdicts[severity], kinds };
    const steps = alertsOf(parseRecord(record), facts);
    record = JSON.stringify(steps.at(-1)!.record);
    return steps.flatMap(({ notice }) => (notice ? [`${notice.event}: ${notice.text}`] : []));
  });
}

/** Plays looks at the outbox: the second, and whether its database can be read. Returns the events. */
function playOutbox(...looks: [atS: number, isRead: boolean][]): string[] {
  let record = '';
  const ofOutbox = {
    unread: { severity: 'critical', summary: 'the outbox cannot be read', cause: 'connection refused' },
    read: { severity: 'ok', summary: 'the outbox flows: 0 rows' },
  } as const;
  return looks.map(([atS, isRead]) => {
    const step = outboxAlertOf(parseRecord(record), atS * 1_000, ofOutbox[isRead ? 'read' : 'unread']);
    record = JSON.stringify(step.record);
    return step.notice?.event ?? '';
  });
}

describe('outboxAlertOf', () => {
  it('begins no incident while a database is away for a moment', () => {
    expect(playOutbox([0, false], [10, false], [20, true], [40, false], [50, true])).toEqual(['', '', '', '', '']);
  });

  it('begins one after half a minute, and ends it', () => {
    expect(playOutbox([0, false], [10, false], [30, false], [40, false], [50, true], [110, true])).toEqual([
      '',
      '',
      'began',
      '',
      '',
      'ended',
    ]);
  });
});

describe('alertsOf', () => {
  it('reports an incident once: its begin, a worse severity, and its end after a minute', () => {
    expect(
      play([0, 'ok'], [1, 'warning'], [2, 'warning'], [3, 'critical'], [4, 'warning'], [5, 'ok'], [5.5, 'notice'], [6, 'ok'], [7, 'ok']),
    ).toEqual([
      [],
      ['began: email paused: 3 waiting. Next: resume it'],
      [],
      ['worse: email stuck: 3 waiting for 6 min, no worker. Cause: no live worker serves `email`. Next: start a worker'],
      [],
      [],
      [],
      ['ended: email is well again: idle'],
      [],
    ]); // prettier-ignore
  });

  it('tells a flood of new kinds once', () => {
    const joined = kind('~flood');
    expect(
      play(
        [0, 'ok', [joined, kind('1')]],
        [1, 'ok', [joined, kind('1'), kind('2')]],
        [11, 'ok', [joined, kind('2'), kind('3')]],
      ),
    ).toEqual([[expect.stringContaining('new-error')], [], [expect.stringContaining('no user 3')]]);
  });

  it('stays quiet while a queue flaps, and reports the next incident again', () => {
    const looks = play(
      [0, 'critical'],
      [1, 'ok'],
      [1.5, 'critical'],
      [2, 'ok'],
      [2.9, 'ok'],
      [3, 'ok'],
      [9, 'critical'],
    );
    expect(looks.map((texts) => texts.map((text) => text.split(':')[0]))).toEqual([['began'], [], [], [], [], ['ended'], ['began']]); // prettier-ignore
  });

  it('reports new kinds of error in one notice, and not again within a day', () => {
    const [a, b] = [kind('a'), kind('b')];
    expect(play([0, 'ok', [kind('old', false)]], [1, 'ok', [a, b]], [2, 'ok', [a]], [100, 'ok', []], [110, 'ok', [a]], [1_500, 'ok', [a]])).toEqual([
      [],
      ['new-error: email: a new error, 2 died: no user a (and 1 more new kinds)'],
      [],
      [],
      [],
      ['new-error: email: a new error, 2 died: no user a'],
    ]); // prettier-ignore
  });

  it('tells a known kind once it comes again, and a quiet one once its time is over', () => {
    const known = (first: number, comesAgain: boolean): ErrorKind => ({
      ...kind('a'),
      firstAt: dateOf(first),
      mark: { known: true, at: dateOf(2), comesAgain },
    });
    const quiet = (last: number): ErrorKind => ({
      ...kind('b', false),
      lastAt: dateOf(last),
      mark: { known: false, at: dateOf(2), quietUntil: dateOf(60), comesAgain: false },
    });
    expect(
      play(
        [0, 'ok', [kind('a'), kind('b')]],
        [3, 'ok', [known(0, false), quiet(3)]],
        [59, 'ok', [quiet(59)]],
        [61, 'ok', [quiet(59)]],
        [62, 'ok', [quiet(62)]],
        [63, 'ok', [quiet(63)]],
        [70, 'ok', [known(69, true)]],
        [71, 'ok', [known(69, true)]],
        [1_600, 'ok', [quiet(1_599), known(69, true)]], // more than a day after both notices
        [1_601, 'ok', [quiet(1_600), known(69, true)]],
      ),
    ).toEqual([
      [expect.stringContaining('a new error')],
      [],
      [],
      [],
      ['new-error: email: an error goes on that was quiet, 2 died: no user b'],
      [],
      ['new-error: email: a known error comes again since 01:09 UTC, 2 died: no user a'],
      [],
      [],
      [],
    ]);
  });

  it('reports an incident before its new kinds', () => {
    const steps = alertsOf(parseRecord(''), { nowMs: 0, verdict: verdicts.critical, kinds: [kind('a')] });
    expect(steps.map(({ notice, record }) => [notice?.event, Object.keys(record.kinds)])).toEqual([
      ['began', []],
      ['new-error', ['a']],
    ]);
  });

  it.each(['', 'null', '{', '{"incident":{"severity":"mild"}}', '[]', '{"kinds":{"a":"b"}}'])(
    'takes the record %j for none',
    (text) => expect(parseRecord(text)).toEqual({ kinds: {} }),
  );

  it('keeps a bounded number of kinds beside those of now, so that none of many is told again', () => {
    const facts = { nowMs: 0, verdict: verdicts.ok };
    const first = alertsOf(parseRecord(''), { ...facts, kinds: newKinds('a', 808) }).at(-1)!.record;
    expect(alertsOf(first, { ...facts, kinds: newKinds('a', 808) }).filter(({ notice }) => notice)).toEqual([]);
    const second = alertsOf(first, { ...facts, kinds: newKinds('b', 100) }).at(-1)!.record;
    expect(Object.keys(second.kinds)).toHaveLength(300);
  });
});
