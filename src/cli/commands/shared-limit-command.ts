import type { Command } from 'commander';
import {
  holdsOf,
  limitOfWholes,
  rateInWords,
  runningInWords,
  sharedLimitInWords,
  waitingKeysInWords,
} from '../../inspect/limit-rules.js';
import { duration } from '../../inspect/words.js';
import { withoutUndefined } from '../../queue/runtime/collections.js';
import { limitInLog, type NewAction, onSharedLimit } from '../../queue/actions/noted-action.js';
import { ACTIONS } from '../../queue/model/actions.js';
import type { PauseOptions } from '../../queue/model/pause.js';
import { ANY_QUEUE, MOST_LISTED_KEYS, type SharedLimitState } from '../../queue/model/shared-limit.js';
import type { SharedLimit } from '../../queue/operate/shared-limit.js';
import { sharedLimitChangesInWords } from '../../inspect/limits-in-words.js';
import type { CommandOptions, Context, Run } from '../context.js';
import { CliError, EXIT } from '../exit-codes.js';
import { timeSpan, wholeNumber } from '../numbers.js';
import type { Session } from '../redis/session.js';
import { lines, text } from '../text.js';

const NONE = 'none';
/** Says where the values of a limit come from. */
const SOURCES = { set: 'set at run time', configuration: 'of the code', none: 'none' } as const;

/** Adds the command that lists the limits which queues share, and shows and steers one. */
export function addSharedLimit(program: Command, run: Run): void {
  program
    .command('shared-limit [name]')
    .description(ACTIONS['shared-limit'].command.text)
    .option('--key <group>', 'acts on one key of a limit that each group has for itself')
    .option('--max-running <n>', `jobs at once, or "${NONE}"; its rates stay`)
    .option('--clear', 'ends a rest, and lets the values of the code apply again')
    .option('--pause', 'starts no job that needs it; running jobs continue')
    .option('--reason <text>', 'why it is paused, for other operators')
    .option('--for <time>', 'ends the pause by itself, such as 15m or 2h')
    .option('--by <name>', 'who pauses it; without it the user of this machine')
    .option('--resume', 'ends the pause; asks where a reason was given')
    .action(run(sharedLimit));
}

async function sharedLimit(context: Context, [name]: string[], options: CommandOptions): Promise<void> {
  const { session, out } = context;
  const { key, ...steps } = options;
  if (name === undefined) {
    await list(context, options);
    return;
  }
  const whole = session.queue(ANY_QUEUE).sharedLimit(name);
  const limit = key === undefined ? whole : whole.key(String(key));
  const shown = limitInLog(name, key === undefined ? undefined : String(key));
  const done = await steer(limit, shown, steps, context);
  const now = await limit.get();
  out.show(now, () => {
    const isUnknown = now.source === 'none' && now.running === 0 && now.waiting.length === 0;
    const words = isUnknown
      ? 'no app has declared it, and no job holds it'
      : sharedLimitInWords(now, new Date(out.nowMs));
    return lines([...(done === undefined ? [] : [done]), text`${shown}: ${words}`]);
  });
}

/** Lists all limits. */
async function list({ session, out }: Context, options: CommandOptions): Promise<void> {
  if (Object.keys(options).length > 0) {
    throw new CliError('Options are for one limit: pass its name. "shared-limit" alone lists all.', EXIT.usage);
  }
  const names = await session.limitNames();
  const queue = session.queue(ANY_QUEUE);
  const limits = await Promise.all(names.map((name) => queue.sharedLimit(name).get()));
  const rows = () => limits.map((limit) => rowOf(limit, new Date(out.nowMs)));
  const layout = { whole: ['limit'], dropped: ['values', 'keys', 'queues'] };
  out.show(limits, () =>
    limits.length > 0
      ? out.table(['limit', 'running', 'starts', 'queues', 'waiting', 'keys', 'held', 'values'], rows(), layout)
      : 'No limit that queues share.',
  );
}

function rowOf(limit: SharedLimitState, at: Date): string[] {
  const { name, rateLimit, queues, waiting, keys = [], waitingKeys, source } = limitOfWholes(limit);
  const known = keys.length === 0 ? '' : `${keys.length}${keys.length < MOST_LISTED_KEYS ? '' : ' or more'}`;
  return [
    name,
    runningInWords(limit),
    rateLimit.map(rateInWords).join('; '),
    queues.join(', '),
    waiting.join(', '),
    [known, waitingKeysInWords(waitingKeys)].filter(Boolean).join('; '),
    holdsOf(limit, at).join('; '),
    SOURCES[source],
  ];
}

/** Does what the options ask for. Returns what was done, in words. */
async function steer(
  limit: SharedLimit,
  shown: string,
  { maxRunning, clear, pause, resume, ...ofPause }: CommandOptions,
  context: Context,
): Promise<string | undefined> {
  const verbs = [maxRunning, clear, pause, resume].filter((verb) => verb !== undefined);
  if (verbs.length > 1) {
    throw new CliError('Use one of --max-running, --clear, --pause and --resume at a time.', EXIT.usage);
  }
  if (!pause && Object.keys(ofPause).length > 0) {
    throw new CliError('--reason, --for and --by belong to --pause.', EXIT.usage);
  }
  const { session } = context;
  if (maxRunning !== undefined) {
    const expected = `a whole number or "${NONE}"`;
    const most = maxRunning === NONE ? null : wholeNumber('max-running', maxRunning, expected)!;
    const changes = { maxRunning: most };
    await logged({ session, limit }, onSharedLimit('shared-limit', shown, sharedLimitChangesInWords(changes)), () =>
      limit.change(changes),
    );
    return 'set; all its values now win over those in the code until --clear';
  }
  if (clear) {
    await logged({ session, limit }, onSharedLimit('clear-shared-limit', shown), () => limit.clear());
    return 'cleared';
  }
  if (pause) {
    return pauseLimit(limit, shown, ofPause as Record<'reason' | 'for' | 'by', string | undefined>, context);
  }
  return resume ? resumeLimit(limit, shown, context) : undefined;
}

async function pauseLimit(
  limit: SharedLimit,
  shown: string,
  { reason, for: time, by }: Record<'reason' | 'for' | 'by', string | undefined>,
  { session, user }: Context,
): Promise<string> {
  const forMs = timeSpan('for', time);
  const until = forMs === undefined ? '' : ` for ${duration(forMs)}`;
  const details = [until.trim(), reason].filter(Boolean).join(', ');
  const isNew = await logged({ session, limit }, onSharedLimit('pause-shared-limit', shown, details), () =>
    limit.pause(withoutUndefined<PauseOptions>({ by: by ?? user, reason, forMs })),
  );
  return `${isNew ? 'paused' : 'was paused already; now paused'}${until}`;
}

/** Ends the pause. Asks before, if it has a reason. */
async function resumeLimit(limit: SharedLimit, shown: string, { session, out, confirm }: Context): Promise<string> {
  const { pausedAt, pausedBy, pauseReason } = await limit.get();
  if (pausedAt && pauseReason !== undefined) {
    const by = pausedBy === undefined ? '' : text` by ${pausedBy}`;
    await confirm(() => text`resume the limit ${shown}, paused${by} ${out.ago(pausedAt)}: ${pauseReason}`);
  }
  const action = onSharedLimit('resume-shared-limit', shown);
  const wasPaused = await logged({ session, limit }, action, () => limit.resume(), Number);
  return wasPaused ? 'resumed' : 'was not paused';
}

/** Does an action with its entry in the log of the first queue whose workers name the limit. Without one it has none. */
async function logged<Outcome>(
  { session, limit: { name } }: { session: Session; limit: SharedLimit },
  action: NewAction,
  change: () => Promise<Outcome>,
  count: (done: Outcome) => number = () => 1,
): Promise<Outcome> {
  const queues = (await session.queueNames()).map((each) => session.queue(each));
  const named = await Promise.all(
    queues.map(async (queue) =>
      (await queue.workers().catch(() => [])).some(({ limits = [] }) => limits.includes(name)),
    ),
  );
  const queue = queues.find((_, i) => named[i]);
  return queue ? queue.actionLog.record(action, change, { count }) : change();
}
