import { Help, type Command } from 'commander';
import { exampleCommands } from '../../queue/model/actions.js';

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
export function inOrderOfUse(command: Command): Command[] {
  const order = Object.keys(EXAMPLES);
  const placeOf = (each: Command) => (each.name() in EXAMPLES ? order.indexOf(each.name()) : order.length);
  return new Help().visibleCommands(command).toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Adds its examples to the help of each command. */
export function addExamples(program: Command): void {
  program.commands.forEach((command) => {
    const examples = [EXAMPLES[command.name()] ?? []].flat().map((example) => `\n  nest-job-queue ${example}`);
    command.addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:${examples.join('')}`);
  });
}
