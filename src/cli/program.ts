import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline/promises';
import { Command, Option, Help } from 'commander';
import { meantState } from '../inspect/search.js';
import { exampleCommands } from '../queue/model/actions.js';
import { addActions, addAudit } from './commands/audit-command.js';
import { addBatchCommands } from './commands/batch-commands.js';
import { addBench } from './commands/bench-command.js';
import { addDashboard } from './commands/dashboard-command.js';
import { addDeadLetterCommands } from './commands/dead-letter-commands.js';
import { addGroupCommands } from './commands/group-commands.js';
import { addJobCommands } from './commands/job-commands.js';
import { addLimits } from './commands/limits-command.js';
import { addProfile } from './commands/profile-command.js';
import { addQueueCommands } from './commands/queue-commands.js';
import { addSchedules } from './commands/schedules-command.js';
import { addSharedLimit } from './commands/shared-limit-command.js';
import { addStatsCommands } from './commands/stats-commands.js';
import { addStream } from './commands/stream-command.js';
import { addTail } from './commands/tail-command.js';
import { addTopics } from './commands/topics-command.js';
import { addWorkerCommands } from './commands/worker-commands.js';
import { addCompletion } from './completion.js';
import type { CommandOptions, Context, LocalContext, Run, RunLocally, RunOnServers } from './context.js';
import { CliError, EXIT } from './exit-codes.js';
import { failureOf, report, withoutQuotedPasswords } from './failure.js';
import { authorOf, userOfMachine, type HostProcess, type OutputStream } from './host-process.js';
import { addMcp } from './mcp/serve-mcp.js';
import { addMigrate } from './migrate/migrate-command.js';
import { wholeNumber } from './numbers.js';
import { addOutbox } from './commands/outbox-command.js';
import { Output } from './output.js';
import { Progress } from './progress.js';
import { oneServer, openServers, type GivenOptions, type NamedSession } from './redis/servers.js';
import { Session } from './redis/session.js';
import { valueOf } from './text.js';

/** The package knows itself by its name, from wherever this file is bundled to. */
const { version } = createRequire(import.meta.url)('nest-job-queue/package.json') as { version: string };

interface GlobalOptions extends GivenOptions {
  json?: boolean;
  yes?: boolean;
  verbose?: boolean;
}

/** Runs the command line; returns the exit code. */
export async function main(argv: readonly string[], host: HostProcess = process): Promise<number> {
  let code: number = EXIT.ok;
  const wantsJson = argv.includes('--json'); // also where commander understands nothing of it
  const program = new Command('nest-job-queue')
    .description('Shows and steers job queues on Redis.')
    .version(version)
    .addOption(
      new Option(
        '--redis <url>',
        'where Redis is, without a password (default: REDIS_URL, or localhost:6379)',
      ).argParser((url, before: readonly string[] | undefined) => [...(before ?? []), url]),
    )
    .option('--prefix <text>', 'the beginning of all keys', 'queue')
    .option('--cluster', 'the address is one of a Redis Cluster; several with commas')
    .option('--sentinel <master>', 'the address is one of Sentinels; several with commas')
    .option('--json', 'answer in JSON')
    .option('-y, --yes', 'do not ask before something is destroyed')
    .option('--verbose', 'show the stack of an error, and all of a job')
    .showHelpAfterError('Add --help for its arguments, options and an example.')
    .configureHelp({ showGlobalOptions: true, visibleCommands: inOrderOfUse })
    .configureOutput({
      outputError: (words, write) => write(`${valueOf(usageWords(words))}\n`),
      writeOut: (words) => void host.stdout.write(words),
      writeErr: (words) => void (wantsJson || host.stderr.write(words)),
      getOutHelpWidth: () => widthOf(host.stdout),
      getErrHelpWidth: () => widthOf(host.stderr),
    })
    .exitOverride();
  const contextOf = (globals: GlobalOptions, out: Output): LocalContext => ({
    out,
    stdin: host.stdin,
    confirm: confirmer(globals, host),
    progress: new Progress(host.stderr, out.json),
    verbose: globals.verbose === true,
    user: host.user ?? userOfMachine(),
    exit: (next: number) => (code = next),
  });
  const runLocally: RunLocally =
    (action) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      const globals = command.optsWithGlobals<GlobalOptions>();
      const out = new Output(host, globals.json === true, 0);
      await action(contextOf(globals, out), command.args, command.opts());
    };
  const run: Run =
    (action) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      const globals = command.optsWithGlobals<GlobalOptions>();
      const session = await Session.open(oneServer(globals), host.env, authorOf(host));
      const out = new Output(host, globals.json === true, session.skewMs);
      try {
        const { shard, ...options } = command.opts<CommandOptions>();
        const args = shard === undefined ? command.args : await argsOfShard(session, command.args, shard);
        await action({ session, ...contextOf(globals, out) }, args, options);
        const { unreached } = session.shards;
        if (unreached.size > 0) {
          out.tellUnreached(unreached);
          code = code === EXIT.ok ? EXIT.warning : code;
        }
      } catch (error) {
        throw failureOf(error, session.place, session.isCut);
      } finally {
        session.close();
      }
    };
  const runOnServers: RunOnServers =
    (action) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      const globals = command.optsWithGlobals<GlobalOptions>();
      const servers = await openServers(globals, host.env, authorOf(host));
      const context = { servers, ...contextOf(globals, new Output(host, globals.json === true, 0)) };
      try {
        await action(context, command.args, command.opts());
      } catch (error) {
        const [{ session }] = servers as [NamedSession];
        throw servers.length > 1 ? error : failureOf(error, session.place, session.isCut);
      } finally {
        servers.forEach(({ session }) => session.close());
      }
    };
  addQueueCommands(program, run, host.env);
  addJobCommands(program, run);
  addDeadLetterCommands(program, run);
  addSchedules(program, run);
  addTopics(program, run);
  addWorkerCommands(program, run);
  addLimits(program, run);
  addSharedLimit(program, run);
  addGroupCommands(program, run);
  addBatchCommands(program, run);
  addStatsCommands(program, run);
  addDashboard(program, runOnServers);
  addStream(program, run);
  addProfile(program, run);
  addTail(program, run);
  addActions(program, run);
  addAudit(program, run);
  addBench(program, run);
  addMigrate(program, run, host.env);
  addOutbox(program, runLocally, host.env);
  addMcp(program, host, main);
  addCompletion(program, run, host.stdout);
  addExamples(program);
  addShards(program);
  program.commands.forEach((command) => command.exitOverride());
  try {
    await program.parseAsync([...argv]);
    return code;
  } catch (error) {
    return report(error, host.stderr, {
      json: wantsJson,
      usageWords,
      verbose: program.opts<GlobalOptions>().verbose === true,
    });
  }
}

/** Lets each command on a queue take one shard. Without it the command takes all shards, or refuses the queue. */
function addShards(program: Command): void {
  const ofQueue = program.commands.filter(({ registeredArguments: [first] }) => first?.name() === 'queue');
  ofQueue.forEach((command) => command.option('--shard <n>', 'of a queue with shards only this one, from 0'));
}

/** Returns the arguments of a command with the name of a shard in place of that of its queue. @throws CliError */
async function argsOfShard(
  session: Session,
  [queue, ...others]: readonly string[],
  given: NonNullable<CommandOptions[string]>,
): Promise<string[]> {
  const shard = wholeNumber('shard', given)!;
  if (queue === undefined) {
    throw new CliError('--shard takes one shard of a queue. Pass the name of the queue.', EXIT.usage);
  }
  return [await session.takeShard(queue, shard), ...others];
}

/** Returns the columns of a terminal, or commander's own width. */
function widthOf(stream: OutputStream): number {
  return (stream.isTTY && stream.columns) || 80;
}

function confirmer({ yes }: GlobalOptions, { stdin, stderr }: HostProcess): Context['confirm'] {
  return async (what, { onlyOnTerminal } = { onlyOnTerminal: false }) => {
    if (yes || (onlyOnTerminal && !stdin.isTTY)) {
      return;
    }
    if (!stdin.isTTY) {
      throw new CliError(`This would ${valueOf(await what())}. Pass --yes to do it.`, EXIT.usage);
    }
    const asker = createInterface({ input: stdin, output: stderr });
    const closed = once(asker, 'close').then(() => ''); // by Ctrl+C or Ctrl+D: on older Nodes the question then stays open
    const asked = asker.question(`This will ${valueOf(await what())}. Go on? [y/N] `).catch(() => '');
    const answer = await Promise.race([asked, closed]).finally(() => asker.close());
    if (!/^y(es)?$/i.test(answer.trim())) {
      throw new CliError('Nothing was changed.');
    }
  };
}

/** Examples of each command, in the order of use: look, understand, mend, steer, and the rest. */
export const EXAMPLES: Readonly<Record<string, string | readonly string[]>> = {
  health: 'health',
  top: 'top',
  stats: 'stats email --watch',
  queues: 'queues',
  errors: 'errors email',
  list: ['list email failed --limit 50', 'list --search "payload.customer:4 state:failed"'],
  show: 'show email 01JD8Z4M --verbose',
  stream: 'stream chat 01JD8Z4M --follow',
  ...exampleCommands('job'),
  enqueue: `enqueue email '{"to":"ada@example.com"}' --delay 15m`,
  ...exampleCommands('queue'),
  ...exampleCommands('limit'),
  workers: 'workers email',
  groups: 'groups email --by age',
  batches: 'batches email',
  batch: 'batch email newsletter-12',
  schedules: 'schedules reports run nightly',
  topics: ['topics', 'topics order.paid remove receipts'],
  tail: 'tail email --count 10',
  actions: 'actions email --via cli',
  audit: 'audit email --follow',
  doctor: 'doctor email',
  dashboard: ['dashboard --port 4000', 'dashboard --redis eu=redis://eu:6379 --redis us=redis://us:6379'],
  outbox: 'outbox check',
  migrate: 'migrate bullmq email --dry-run',
  bench: 'bench --jobs 10000',
  mcp: 'mcp --write',
  completion: 'completion bash',
};

/** Returns the commands in the order of use, for the help. */
function inOrderOfUse(command: Command): Command[] {
  const order = Object.keys(EXAMPLES);
  const placeOf = (each: Command) => (each.name() in EXAMPLES ? order.indexOf(each.name()) : order.length);
  return new Help().visibleCommands(command).toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Adds its examples to the help of each command. */
function addExamples(program: Command): void {
  program.commands.forEach((command) => {
    const examples = [EXAMPLES[command.name()] ?? []].flat().map((example) => `\n  nest-job-queue ${example}`);
    command.addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:${examples.join('')}`);
  });
}

// Our words for the errors of commander: what is wrong, what is expected, and what was found.

const SUGGESTION = /\n\(Did you mean ([^\n]*)\?\)$/;

const USAGE_WORDS: readonly [pattern: RegExp, ours: (...found: string[]) => string][] = [
  [/^unknown option '(.*)'$/s, (option) => `There is no option ${option}.`],
  [/^unknown command '(.*)'$/s, (command) => `There is no command ${command}.`],
  [/^missing required argument '(.*)'$/s, (argument) => `The argument <${argument}> is missing.`],
  [/^option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/s, (name, value) => `${name} needs its value ${value}.`],
  [
    /^too many arguments for '(.*)'\. Expected (\d+) arguments? but got (\d+)\.$/s,
    (command, most, found) => `${command}: expected at most ${most} arguments, found ${found}.`,
  ],
  [
    /^option '(?:-\w, )?(--[\w-]+).*?' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
    (name, found, choices) => `${name}: expected ${choices}, found "${found}".`,
  ],
  [
    /^option '(--[\w-]+).*?' cannot be used with option '(--[\w-]+).*?'$/s,
    (first, second) => `${first} and ${second} exclude each other.`,
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/s,
    (found, name, choices) => `<${name}>: expected ${choices}, found "${found}".${hintFor(found, choices)}`,
  ],
];

/** Returns the state that was meant, where it is one of the choices. */
function hintFor(found = '', choices = ''): string {
  const meant = meantState(found);
  return meant !== undefined && choices.split(', ').includes(meant) ? ` Did you mean ${meant}?` : '';
}

/** Returns an error of commander in our words, without a possible password in what it quotes. */
function usageWords(words: string): string {
  const said = words.trimEnd().replace(/^error: /, '');
  const [whole = '', suggested] = SUGGESTION.exec(said) ?? [];
  const plain = withoutQuotedPasswords(said.slice(0, said.length - whole.length));
  const [pattern, ours] = USAGE_WORDS.find(([each]) => each.test(plain)) ?? [];
  const inOurs = pattern && ours ? ours(...pattern.exec(plain)!.slice(1)) : plain;
  return suggested === undefined ? inOurs : `${inOurs} Did you mean ${suggested}?`;
}
