import type { Command } from 'commander';
import { groupLimitsInWords, limitsInWords } from '../../inspect/limits-in-words.js';
import type { LimitsEntry } from '../../inspect/queue-signs.js';
import { sharedLimitInWords } from '../../inspect/limit-rules.js';
import { lastLimitsEntries, readSharedLimits } from '../../inspect/signs.js';
import { ACTIONS } from '../../queue/model/actions.js';
import type { LimitChanges, LimitsInForce, RateLimit, RuntimeLimits } from '../../queue/model/limits.js';
import { queueOfLimit, type SharedLimitState } from '../../queue/model/shared-limit.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { wholeNumber } from '../numbers.js';
import type { Output } from '../output.js';
import { lines, padded, type Part, text, type Text } from '../text.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';

/** The word that takes one limit away. */
const NONE = 'none';
const DEFAULT_PERIOD_MS = 1_000;

/** Adds the command that shows and sets the limits of a queue. */
export function addLimits(program: Command, run: Run): void {
  program
    .command('limits <queue>')
    .description(ACTIONS.limits.command.text)
    .option('--max-running <n>', `jobs at once, or "${NONE}"`)
    .option('--rate <n>', `starts in a period, or "${NONE}"`)
    .option('--period <ms>', `the period of the rate (default: as it is, or ${DEFAULT_PERIOD_MS})`)
    .option('--burst <n>', 'starts at once after a quiet time (default: unchanged, or 1)')
    .option('--max-pending <n>', `waiting jobs, or "${NONE}"`)
    .option('--max-pending-bytes <n>', `bytes of waiting payload, or "${NONE}"`)
    .option('--clear', 'removes all limits, those of its groups too')
    .action(run(limits));
}

async function limits({ session, out }: Context, [name]: string[], options: CommandOptions): Promise<void> {
  const { clear, ...named } = options;
  if (clear && Object.keys(named).length > 0) {
    throw new CliError('--clear removes all limits; use it without other options.', EXIT.usage);
  }
  const known = await session.known(name!);
  const queue = known.limits;
  const before = await queue.get();
  const changes = changesOf(named, before);
  if (clear) {
    await queue.clear();
  } else if (Object.keys(changes).length > 0) {
    await queue.change(changes);
  }
  const now = await queue.get();
  const entries = now.source === 'set' ? await lastLimitsEntries(known) : [];
  const shared = await readSharedLimits(known, await known.workers());
  const shown = shared.length > 0 ? { ...now, shared } : now;
  out.show(shown, () =>
    lines([
      ...changesInWords(changes, now),
      ...rows(now, entries, out),
      ...shared.map((limit) => rowOf(limit, out)),
    ]),
  );
}

/** Returns the changes that the options ask for. null clears a limit. */
function changesOf(options: CommandOptions, before: LimitsInForce): LimitChanges {
  const { rate, period, burst } = options;
  const changes: Record<string, unknown> = {};
  for (const option of ['max-running', 'max-pending', 'max-pending-bytes']) {
    const key = option.replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
    if (options[key] !== undefined) {
      changes[key] = numberOrNone(option, options[key]) ?? null;
    }
  }
  if ([rate, period, burst].some((each) => each !== undefined)) {
    changes['rateLimit'] = rateOf({ rate, period, burst }, before.rateLimit);
  }
  return changes;
}

/** Returns the named parts of the rate only, so that operators who change other parts do not undo each other. */
function rateOf({ rate, period, burst }: CommandOptions, before: RateLimit | undefined): Partial<RateLimit> | null {
  const limit = numberOrNone('rate', rate);
  const isNone = rate === undefined ? before === undefined : limit === undefined;
  if (isNone && (period !== undefined || burst !== undefined)) {
    throw new CliError('--period and --burst belong to a rate; pass --rate <n> too.', EXIT.usage);
  }
  return isNone
    ? null
    : withoutUndefined({
        limit,
        periodMs: wholeNumber('period', period) ?? (before ? undefined : DEFAULT_PERIOD_MS),
        burst: wholeNumber('burst', burst),
      });
}

function numberOrNone(option: string, value: string | boolean | undefined): number | undefined {
  return value === NONE ? undefined : wholeNumber(option, value, `a whole number or "${NONE}"`);
}

/** Returns the limits in force without the fields that no user sets. */
function settingsOf(now: LimitsInForce): RuntimeLimits {
  const { source: _, configured: _code, restsUntil: _rest, nextStartAt: _next, ...settings } = now; // a limit that comes later stays too
  return settings;
}

/** Returns the changed, the removed and the unchanged limits, in words. */
function changesInWords(changes: LimitChanges, now: LimitsInForce): Part[] {
  const named = Object.entries(changes);
  const lists = {
    set: named.filter(([, limit]) => limit !== null).map(([name]) => name),
    removed: named.filter(([, limit]) => limit === null).map(([name]) => name),
    kept: Object.keys(settingsOf(now)).filter((key) => !(key in changes)),
  };
  const words = Object.entries(lists).flatMap(([word, names]) =>
    names.length > 0 ? `${word}: ${names.join(', ')}` : [],
  );
  const rule =
    lists.set.length + lists.kept.length > 0
      ? 'All of them, the kept ones too, now win over those in the code until --clear.'
      : 'No limit is left, and those in the code do not count until --clear.';
  return named.length === 0 ? [] : [words.join('; '), rule, ''];
}

function rowOf(limit: SharedLimitState, out: Output): Text {
  const words = sharedLimitInWords(limit, new Date(out.nowMs));
  return queueOfLimit(limit.name) === undefined
    ? text`${padded('shared', 12)} ${limit.name}: ${words}`
    : text`${padded('rates', 12)} ${words}`;
}

function rows(now: LimitsInForce, entries: readonly LimitsEntry[], out: Output): Text[] {
  const { groups, restsUntil, nextStartAt } = now;
  const shown: [name: string, words: string | null | undefined][] = [
    ['limits', limitsInWords(now, entries, new Date(out.nowMs)) ?? 'none'],
    ['each group', groups && groupLimitsInWords(groups)],
    ['no group', groups?.ungroupedWeight === undefined ? null : `weight ${groups.ungroupedWeight}`],
    ['rests until', restsUntil && out.when(restsUntil)],
    ['next start', nextStartAt && out.when(nextStartAt)],
  ];
  return shown.flatMap(([name, words]) => (words ? [text`${padded(name, 12)} ${words}`] : []));
}
