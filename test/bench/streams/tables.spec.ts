// The table of `npm run bench -- --streams`.
import { expect, it } from '@jest/globals';
import { fillStreams, type StreamsReport } from '../../../bench/streams/tables.mjs';

const counts = { scripts: 0.0712, commands: 5.1, redisUs: 17, nodeUs: 33.4, perSecond: 7_012.4 };
const report: StreamsReport = {
  machine: { cpu: 'EPYC', cores: 2, node: 'v20.0.0' },
  redis: '7.0.15',
  rounds: 5,
  jobs: 1_000,
  values: 20,
  medians: { unread: counts, read: { ...counts, firstP50: 281.26, firstP99: 1_290 } },
};

it('replaces the table between its markers', () => {
  const filled = fillStreams('before\n<!-- streams -->\n\nold\n\n<!-- /streams -->\nafter', report);
  expect(filled).toContain(
    'before\n<!-- streams -->\n\nThe medians of 5 rounds on EPYC, 2 cores, Node v20.0.0, Redis 7.0.15.',
  );
  expect(filled).toContain('| chunks that nobody reads | 0.0712 | 5.1 | 17 | 33.4 | 7,012 | – | – |');
  expect(filled).toContain(
    '| chunks with a reader for each job | 0.0712 | 5.1 | 17 | 33.4 | 7,012 | 281 | 1,290 |',
  );
  expect(filled).toMatch(/<!-- \/streams -->\nafter$/);
});
