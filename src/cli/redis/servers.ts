// The servers of `--redis`. Every command takes one, and the dashboard several.
import { show } from '../../queue/errors/show.js';
import type { ActionAuthor } from '../../queue/store/action-entry.js';
import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import { CliError, EXIT } from '../exit-codes.js';
import type { AddressOptions } from './address.js';
import { Session, type SessionOptions } from './session.js';

/** The options of an address as they were given. `--redis` may be there several times. */
export interface GivenOptions extends Omit<SessionOptions, 'redis'> {
  redis?: readonly string[];
}

/** A server with its name. */
export interface NamedSession {
  name: string;
  session: Session;
  /** Why it cannot be reached now. Its session connects as soon as it is there. */
  problem?: string;
}

/** The time that the other servers have to answer once one has, in ms. */
const GRACE_MS = 500;

const NAMED = /^([\w-]{1,64})=(.*)$/s;
const LONGEST_NAME = 64;

/** Returns the options of one server. @throws CliError for several */
export function oneServer({ redis = [], ...options }: GivenOptions): SessionOptions {
  if (redis.length > 1) {
    throw new CliError(
      `--redis: expected one address, found ${redis.length}. Only "dashboard" takes several.`,
      EXIT.usage,
    );
  }
  return { ...options, ...(redis[0] !== undefined && { redis: redis[0] }) };
}

/**
 * Opens the sessions of all servers. Does not wait for one that is away once another has answered.
 *
 * @throws CliError for a wrong address, or if none can be reached
 */
export async function openServers(
  options: GivenOptions,
  env: NodeJS.ProcessEnv,
  author: ActionAuthor,
): Promise<NamedSession[]> {
  const { redis = [], ...rest } = options;
  const given = redis.length > 0 ? redis.map((text) => addressOf(text, env)) : [{ name: 'redis', env }];
  const twice = given.find(({ name }, i) => given.findIndex((each) => each.name === name) < i);
  if (twice) {
    throw new CliError(
      `--redis: expected a name once, found ${show(twice.name)} twice. Pass NAME=URL.`,
      EXIT.usage,
    );
  }
  const opening = given.map((each) => Session.open({ ...rest, ...each.options }, each.env, author));
  const opened = await firstAnswers(opening);
  const errors = opened.flatMap((each) => (each?.status === 'rejected' ? [each.reason as unknown] : []));
  const fatal = errors.length === opened.length ? errors[0] : errors.find((error) => !isAway(error));
  if (fatal !== undefined) {
    opening.forEach(closeLater);
    throw fatal;
  }
  return opened.map((each, i): NamedSession => {
    const { name, options: own, env: ofServer } = given[i]!;
    if (each?.status === 'fulfilled') {
      return { name, session: each.value };
    }
    closeLater(opening[i]!);
    const session = Session.openLater({ ...rest, ...own }, ofServer, author);
    const problem = each ? (each.reason as CliError).message : `Redis at ${session.place} has not answered yet.`;
    return { name, session, problem };
  });
}

/** Waits for the first session, and a little for the others. Undefined for one that is not known by then. */
async function firstAnswers(
  opening: readonly Promise<Session>[],
): Promise<(PromiseSettledResult<Session> | undefined)[]> {
  const answers: (PromiseSettledResult<Session> | undefined)[] = opening.map(() => undefined);
  const all = Promise.all(
    opening.map(async (each, i) => {
      [answers[i]] = await Promise.allSettled([each]);
    }),
  );
  const first = Promise.any(opening).catch(() => all); // then all have failed
  await first.then(() => within(systemClock, GRACE_MS, all, () => undefined));
  return [...answers];
}

function closeLater(opening: Promise<Session>): void {
  opening.then(
    (session) => session.close(),
    () => undefined,
  );
}

function isAway(error: unknown): boolean {
  return error instanceof CliError && error.exitCode === EXIT.unreachable;
}

interface Address {
  name: string;
  options?: Pick<AddressOptions, 'redis'>;
  env: NodeJS.ProcessEnv;
}

/** Reads `URL`, `NAME=URL`, or `NAME=env:VARIABLE` for an address with a password. */
function addressOf(text: string, env: NodeJS.ProcessEnv): Address {
  const [, name = nameOf(text), address = text] = NAMED.exec(text) ?? [];
  const [, variable] = /^env:(\w+)$/.exec(address) ?? [];
  if (variable === undefined) {
    return { name, options: { redis: address }, env };
  }
  if (env[variable] === undefined) {
    throw new CliError(`--redis: expected an address in the variable ${variable}, found none.`, EXIT.usage);
  }
  return { name, env: { ...env, REDIS_URL: env[variable] } };
}

/** Returns a name for an address without one: its host, port and database. */
function nameOf(address: string): string {
  const place = address.replace(/^\w+:\/\//, '').replace(/^.*@/s, '');
  return place.replaceAll(/[^\w-]+/g, '-').slice(0, LONGEST_NAME);
}
