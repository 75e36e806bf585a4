// docs/redis.md: the table of keys with a lifetime has each key that a script or the code gives one.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { rowsOf } from '../table.js';

const ROOT = join(import.meta.dirname, '../../..');
const rows = rowsOf('lifetimes', 'docs/redis.md').slice(2);

const RECORD = 'the record of a completed or cancelled job';
const HISTORY = '`worker_details`, history, `outcomes_…`, ended batches';
const WORKERS = '`workers`, `handler_limits`, `retention`, `names`';
const NUDGE = '`nudge:{worker}`, `waiters`';
const ENTRIES = '`maintainers`, `alerts`, `bulk_runs`';
const CLAIM = '`batch:{worker}:…`';
const STREAM = '`stream:…`, also of a running job';
const FORWARDING = 'the record that a move leaves at the old place';
const COPY = 'the copy of a batch that moves';
const KEY_OF_LIMIT = '`limit:{…#…}`, also of running jobs';
const DEDUPLICATION = 'the deduplication key of BullMQ, which a move to BullMQ writes';

/** The row of each key, by the file that gives it a lifetime and the name that it has there. */
const ROW_OF: Record<string, string> = {
  'lua/dead-letter/mark-kind.lua error_marks': '`error_marks`',
  'lua/doctor/batches.lua key': HISTORY,
  'lua/history/close-minute.lua marks': HISTORY,
  'lua/history/close-minute.lua open': HISTORY,
  'lua/history/close-minute.lua stream': HISTORY,
  'lua/history/close-minute.lua history': HISTORY,
  'lua/history/add-durations.lua last_batch': HISTORY,
  'lua/history/add-durations.lua open': HISTORY,
  'lua/sweep/note-idle.lua open': HISTORY,
  'lua/lib/reclaim/crash_claims.lua marks': HISTORY,
  'lua/lib/audit/outcomes.lua newer': HISTORY,
  'lua/lib/batch/end_batch.lua batch_record .. old': HISTORY,
  'lua/lib/batch/end_batch.lua ended': HISTORY,
  'lua/lib/batch/end_batch.lua key .. part': HISTORY,
  'lua/lib/batch/end_batch.lua key': HISTORY,
  'lua/worker/describe.lua worker_details': HISTORY,
  'lua/worker/renew.lua details': HISTORY,
  'lua/alert/take-turn.lua alerts': ENTRIES,
  'lua/sweep/hold.lua maintainers': ENTRIES,
  'src/dashboard/actions/bulk-runs.ts keys.bulkRuns': ENTRIES,
  'lua/job/cancel.lua nudge .. worker': NUDGE,
  'lua/lib/batch/cancel_member.lua nudge .. worker': NUDGE,
  'lua/lib/newest/stop_running.lua nudge .. worker': NUDGE,
  'lua/lib/waiters/join.lua waiters': NUDGE,
  'src/queue/scripts/worker-wait.ts key': NUDGE,
  'lua/attempt/extend-batch.lua batch': CLAIM,
  'lua/lib/settle/claim_ids.lua batch': CLAIM,
  'src/queue/doctor/doctor.ts key': CLAIM,
  'lua/profile/request.lua profile': '`profile`',
  'lua/profile/store.lua profile': '`profile`',
  'lua/profile/take.lua profile': '`profile`',
  'lua/stream/write.lua key': STREAM,
  'lua/batch/deliver.lua early': '`batch_record:…/early`',
  'lua/lib/limits/fullness.lua later': '`groups:later:…`',
  'lua/lib/group/keyed.lua keyed': '`groups:keyed`',
  'lua/lib/shared_limit/key.lua key': KEY_OF_LIMIT,
  'lua/shared-limit/note-keys.lua place': '`limit:{…}:keys`, `:full`, `:closed`',
  'lua/lib/purge/forget_queue.lua key': WORKERS,
  'lua/lib/retention/forget_names.lua names': WORKERS,
  'lua/lib/unique/replace.lua replaced .. (options.request or id)': '`replaced:…`',
  'lua/sweep/look-at-kept.lua job .. id': RECORD,
  'lua/migrate/queue/put-ended.lua job .. id': RECORD,
  'lua/lib/doctor/leave_places.lua at.key': RECORD,
  'lua/lib/once/add_entry.lua job .. id': RECORD,
  'lua/lib/settle/finish.lua key': RECORD,
  'lua/lib/settle/finish_broken_end.lua job .. id': RECORD,
  'lua/lib/retention/cut_history.lua job .. id': RECORD,
  'lua/lib/retention/trim_lists.lua job .. id': RECORD,
  'lua/lib/complete/leave_claims.lua done_keys[i]': RECORD,
  'lua/migrate/queue/take.lua job .. id': FORWARDING,
  'src/migrate/queue/queue-mover.ts key': COPY,
  'lua/migrate/bullmq/add.lua de .. dedup': DEDUPLICATION,
};

/** The commands that give a lifetime, with the key before the first comma. */
const GIVES =
  /'(?:P?EXPIRE(?:AT)?)', ([^',]+),|'SET', ([^,]+),[^\n]*'(?:PX|EX|PXAT|EXAT)'|\.p?expire(?:at)?\(([^,]+),/g;

function lifetimesIn(folder: string, ends: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ends) && !name.includes('.generated.') && !name.startsWith('memory/'))
    .flatMap((name) => {
      const text = readFileSync(join(ROOT, folder, name), 'utf8');
      return [...text.matchAll(GIVES)].map(([, ...keys]) => `${folder}/${name} ${keys.find(Boolean)!}`);
    });
}

it('has a row for each key that gets a lifetime, and none without', () => {
  const given = new Set([...lifetimesIn('lua', '.lua'), ...lifetimesIn('src', '.ts')]);
  expect([...given].toSorted()).toEqual(Object.keys(ROW_OF).toSorted());
  expect([...new Set(Object.values(ROW_OF))].toSorted()).toEqual(rows.map(([key]) => key!).toSorted());
});

it('says of each row what its loss does', () => {
  expect(rows.filter(([, loss = '']) => loss.length < 20)).toEqual([]);
});
