import { listOf, rowsOf, textOf } from '../../../replies/check-reply.js';
import { ACTIONS_KEPT } from '../../../runtime/bounds.js';
import { startOf, wellFormed } from '../../../runtime/cut.js';
import type { RedisClient } from '../../../redis/redis-client.js';
import type {
  ActionAuthor,
  ActionTarget,
  ActionVerbs,
  NotedAction,
  StoredAction,
} from '../../../store/verbs/action-verbs.js';
import { type CallContext, call, command } from '../../script-call.js';

/** The longest subject of an entry. */
const LONGEST = 500;

/** Returns the calls of the action log. It is read by a command, so no worker needs a permission for it. */
export function actionCalls({ keys }: CallContext) {
  return {
    note: (action) => call('actionNote', [keys.actions], [ACTIONS_KEPT, ...fieldsOf(action)], textOf),

    read(before, limit) {
      const from = before === '' ? '+' : `(${before}`;
      const send = (client: RedisClient) => client.xrevrange(keys.actions, from, '-', 'COUNT', limit);
      return command('actionRead', [keys.actions], send, (reply) => listOf(reply).map(decodeEntry));
    },
  } satisfies ActionVerbs;
}

function fieldsOf({ by, via, action, subject, target, other, count, of, isVoid }: NotedAction): string[] {
  const text = wellFormed(startOf(subject, LONGEST));
  const counted = isVoid ? 'none' : count === null ? '' : String(count);
  return [
    'by',
    by,
    'via',
    via,
    'action',
    action,
    'subject',
    text,
    'count',
    counted,
    ...(target ? ['kind', target.kind, 'id', target.id] : []),
    ...(other ? ['other_kind', other.kind, 'other_id', other.id] : []),
    ...(of === undefined ? [] : ['of', of]),
  ];
}

function decodeEntry(entry: unknown): StoredAction {
  const [id, fields] = listOf(entry);
  const entryId = textOf(id);
  const known = new Map<string, string>(rowsOf(fields, 2).map(([name, value]) => [name!, value!]));
  const value = (name: string) => known.get(name) ?? '';
  const [count, of] = [value('count'), value('of')];
  return {
    entryId,
    at: new Date(Number(entryId.split('-')[0])),
    by: value('by'),
    via: value('via') as ActionAuthor['via'],
    action: value('action'),
    subject: value('subject'),
    ...(known.has('kind') && { target: targetOf(value('kind'), value('id')) }),
    ...(known.has('other_kind') && { other: targetOf(value('other_kind'), value('other_id')) }),
    count: count === '' || count === 'none' ? null : Number(count),
    ...(of !== '' && { of }),
    ...(count === 'none' && { isVoid: true }),
  };
}

function targetOf(kind: string, id: string): ActionTarget {
  return { kind: kind as ActionTarget['kind'], id };
}
