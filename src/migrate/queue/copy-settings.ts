// Copies the limits, pauses and announcements of a queue that moves, once.
import type { NewPlace } from './new-place.js';
import { fieldsOf, type OldPlace } from './old-place.js';

/** The fields of `settings` that are not copied: each belongs to the old place, or is written by another step. */
const NOT_SETTINGS = new Set([
  'has_groups',
  'timer_until_ms',
  'timer_worker',
  'paused_at_ms',
  'paused_by',
  'pause_reason',
  'paused_until_ms',
  'rate_set_at',
]);
const GROUP_SETTINGS = new Set([
  'max_running',
  'rate_limit',
  'rate_period_ms',
  'rate_burst',
  'weight',
  'max_pending',
  'on_dead_head',
  'plain_weight',
  'max_pending_bytes',
]);
/** A hold goes with the job that has it. */
const HOLDS = new Set(['hold', 'hold_is_dead', 'rate_set_at']);
const ANNOUNCED = new Set(['layout', 'content', 'producer_content', 'largest_payload_bytes', 'longest_window_ms']);

/** Copies the settings of a queue. Returns what it set there, in words. */
export async function copySettings(old: OldPlace, target: NewPlace, wasPaused: boolean): Promise<string[]> {
  const { client, keys } = old;
  if ((await client.hget(old.moving('state'), 'settings')) !== null) {
    return [];
  }
  const done: string[] = [];
  const settings = await client.hgetall(keys.settings);
  const note = (isWritten: boolean, words: string) => void (isWritten && done.push(words));
  await target.putSettings(
    'announced',
    picked(await client.hgetall(keys.sweep), (name) => ANNOUNCED.has(name)),
  );
  const own = picked(settings, (name) => !NOT_SETTINGS.has(name)).map((value, i, all) =>
    i % 2 === 1 && all[i - 1] === 'limits_owner' ? '' : value,
  );
  note(await target.putSettings('queue', own), 'limits');
  const ofGroups = await client.hgetall(`${keys.groupsPrefix}settings`);
  note(
    await target.putSettings(
      'groups',
      picked(ofGroups, (name) => GROUP_SETTINGS.has(name)),
    ),
    'limits of all groups',
  );
  let groups = 0;
  for (const name of await client.hkeys(`${keys.groupsPrefix}states`)) {
    const [state, until] = await Promise.all([
      client.hgetall(`${keys.groupsPrefix}state:${name}`),
      client.zscore(`${keys.groupsPrefix}resting`, name),
    ]);
    const fields = picked(state, (field) => !HOLDS.has(field));
    groups += (await target.putSettings('group', fields, { name, until: until ?? '' })) ? 1 : 0;
  }
  note(groups > 0, `settings of ${groups} group${groups === 1 ? '' : 's'}`);
  if (wasPaused) {
    const by = settings['paused_by'];
    note(
      await target.queue.pause({
        ...(by && { by }),
        reason: settings['pause_reason'] ?? 'It was paused before its move.',
      }),
      'pause',
    );
  }
  await client.hset(old.moving('state'), 'settings', '1');
  return done;
}

function picked(hash: Record<string, string>, isWanted: (field: string) => boolean): string[] {
  return fieldsOf(Object.fromEntries(Object.entries(hash).filter(([field]) => isWanted(field))));
}
