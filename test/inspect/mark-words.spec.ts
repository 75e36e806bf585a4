import { expect, it } from '@jest/globals';
import { markWords, withVersions } from '#inspect/shared-errors.js';
import type { KindMark } from '#queue/dead-letters/error-kinds.js';
import type { HistoryMark } from '#queue/model/history.js';

const at = (minute: number) => new Date(minute * 60_000);
const mark = (comesAgain: boolean): KindMark => ({ known: true, comesAgain, by: 'ada', at: at(1) });

function queueWith(...marks: HistoryMark[]) {
  let reads = 0;
  const history = {
    read: async () => (reads++, { at: at(0), stepMs: 60_000, points: [], total: undefined, marks }),
  };
  return { queue: { history } as never, reads: () => reads };
}

it('says since which version a known kind comes again', async () => {
  const deploys = queueWith(
    { kind: 'deploy', at: at(20), version: '2.3.0' },
    { kind: 'deploy', at: at(30), version: '2.4.0' },
  );
  const [again, late] = await withVersions(deploys.queue, [
    { mark: mark(true), firstAt: at(31) },
    { mark: mark(true), firstAt: at(90) },
  ]);
  expect(markWords(again!.mark, 5_400_000, again!.version)).toBe(
    'comes again since version 2.4.0, known since 00:01 UTC (ada)',
  );
  expect(markWords(late!.mark, 5_400_000, late!.version)).toBe('comes again, known since 00:01 UTC (ada)');
});

it('reads no history while no known kind comes again', async () => {
  const { queue, reads } = queueWith();
  const [kind] = await withVersions(queue, [{ mark: mark(false), firstAt: at(31) }]);
  expect([markWords(kind!.mark, 0, kind!.version), reads()]).toEqual(['known (ada)', 0]);
});
