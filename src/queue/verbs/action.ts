// The action log: lua/action, and a command that reads it, for which no worker needs a permission.
import { listOf, rowsOf, textOf } from '../replies/check-reply.js';
import { ACTIONS_KEPT } from '../runtime/bounds.js';
import { startOf, wellFormed } from '../runtime/cut.js';
import type { ActionAuthor, ActionTarget, NotedAction, StoredAction } from '../store/action-entry.js';
import { by, command, number, text, verb } from './verb.js';

/** The longest subject of an entry. */
const LONGEST = 500;

export const ACTION_LOG = {
  /** Adds an entry. Returns its id. */
  note: verb('actionNote', {
    keys: ({ actions }) => [actions],
    args: by((action: NotedAction) => [ACTIONS_KEPT, ...fieldsOf(action)], {
      of: true,
      id: true,
      action: true,
      subject: true, // the words of noted-action.ts
      by: true,
    }),
    reply: textOf,
  }),

  /** Returns entries, newest first. @param given.before the `entryId` before which to continue; '' for the newest */
  read: command('actionRead', {
    keys: ({ actions }) => [actions],
    args: { before: text, limit: number },
    send: (client, { before, limit }, { actions }) =>
      client.xrevrange(actions, before === '' ? '+' : `(${before}`, '-', 'COUNT', limit),
    reply: (reply) => listOf(reply).map(decodeEntry),
  }),
};

function fieldsOf({ via, action, subject, target, other, count, of, isVoid, ...author }: NotedAction): string[] {
  const counted = isVoid ? 'none' : count === null ? '' : String(count);
  return [
    'by',
    author.by,
    'via',
    via,
    'action',
    action,
    'subject',
    wellFormed(startOf(subject, LONGEST)),
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
