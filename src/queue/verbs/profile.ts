// The verbs of profiles: the scripts of lua/profile.
import { PROFILE_KEPT_MS, PROFILE_WAIT_MS, type ProfileKind, type ProfileRecord } from '../model/profile.js';
import { flagOf, listOf, textOf } from '../replies/check-reply.js';
import { WORKER_SEEN_MS } from '../runtime/lifetimes.js';
import type { QueueKeys } from '../scripts/queue-keys.js';
import { number, optional, own, text, verb, word } from './verb.js';

/** Why a request was refused. */
type ProfileRefusal = 'busy' | 'unserved' | 'unhandled';

const keys = ({ profile }: QueueKeys) => [profile];

export const PROFILES = {
  /** Asks the workers for a profile. */
  request: verb('profileRequest', {
    keys: ({ profile, workers, names }) => [profile, workers, names],
    args: {
      id: text,
      name: text,
      kind: word<ProfileKind>(),
      forMs: number,
      waitMs: own(() => PROFILE_WAIT_MS),
      seenMs: own(() => WORKER_SEEN_MS),
    },
    repeat: 'same',
    reply: (reply) => textOf(reply) as 'asked' | ProfileRefusal,
  }),

  /** Gives a request to an attempt. Returns whether the attempt has it. */
  take: verb('profileTake', {
    keys,
    args: { id: text, worker: text, job: text, attempt: number, mostMs: number },
    repeat: 'same',
    reply: flagOf,
  }),

  /** Stores a profile, or the reason why there is none. Returns false if the request is over. */
  store: verb('profileStore', {
    keys,
    args: {
      id: text,
      worker: text,
      content: optional(text),
      reason: optional(text),
      keptMs: own(() => PROFILE_KEPT_MS),
    },
    repeat: 'same',
    reply: flagOf,
  }),

  /** Returns the last profile; null without one. */
  read: verb('profileRead', {
    keys,
    args: { content: own(() => '') },
    repeat: 'same',
    reply: (reply) => (reply === null ? null : decodeProfile(listOf(reply))),
  }),

  /** Returns the last profile with its content as stored. */
  download: verb('profileRead', {
    keys,
    args: { content: own(() => '1') },
    repeat: 'same',
    reply(reply): { record: ProfileRecord; content: string } | null {
      if (reply === null) {
        return null;
      }
      const fields = listOf(reply);
      return { record: decodeProfile(fields), content: textOf(fields[13]) };
    },
  }),
};

/** Returns an instant; the epoch for a text that is none, which anybody may have written. */
function at(ms: string | undefined): Date {
  return new Date(Number(ms) || 0);
}

function decodeProfile(fields: readonly unknown[]): ProfileRecord {
  const [id, state, name, kind, forMs, askedAt, worker, jobId, attempt, startedAt, endedAt, reason] = fields
    .slice(0, 12)
    .map((field) => (typeof field === 'string' ? field : ''));
  return {
    id: id!,
    state: state as ProfileRecord['state'],
    ...(name && { name }),
    kind: kind as ProfileKind,
    forMs: Number(forMs),
    askedAt: at(askedAt),
    ...(worker && { worker, jobId: jobId!, attempt: Number(attempt), startedAt: at(startedAt) }),
    ...(endedAt && { endedAt: at(endedAt) }),
    ...(reason && { reason }),
    bytes: Number(fields[12]),
  };
}
