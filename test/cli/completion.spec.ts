// The completion, typed in a real shell on a terminal.
import { once } from 'node:events';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobQueue } from '#queue/job-queue.js';
import { connect, uniqueQueueName } from '../support/redis/redis.js';
import { cli, listedCommands } from './run-cli.js';

const folder = mkdtempSync(join(tmpdir(), 'completion-'));
const script = join(folder, 'completion.bash');

/** A command that prints its arguments. As the hidden command it completes to them, too. */
const STUB = `nest-job-queue() {
  if [[ "$1" == queue-names ]]; then shift; echo "mailbox $(IFS=_; echo "at_$*" | tr -d :)"; else echo "called with:" "$@."; fi
}
`;

beforeAll(async () => {
  const { stdout } = await cli(['completion', 'bash']);
  writeFileSync(script, `${stdout}${STUB}PS1='ready> '\n`);
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Types a line with tabs into a bash on a terminal; returns what the command was called with. */
async function typed(line: string): Promise<string> {
  const shell = spawn('script', ['-qec', `stty cols 200; bash --noprofile --rcfile '${script}' -i`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let output = '';
  let isTyped = false;
  shell.stdout.setEncoding('utf8').on('data', (data: string) => {
    output += data;
    if (!isTyped && output.includes('ready> ')) {
      isTyped = true;
      shell.stdin.write(`${line}\n`);
    }
    if (/called with:[^\n]*\n/.test(output)) shell.stdin.end('exit\n');
  });
  await new Promise((resolve) => shell.once('close', resolve));
  return /^called with: (.*)\.\r?$/m.exec(output)?.[1] ?? output;
}

it.each([
  ['nest-job-queue redr\tmail --al\t', 'redrive mail --all'],
  ['nest-job-queue --js\ttop mail --ev\t5', '--json top mail --every 5'],
  ['nest-job-queue --redis redis://localhost:1 prom\tmail 1', '--redis redis://localhost:1 promote mail 1'],
  ['nest-job-queue schedules mail rem\tnightly --y\t', 'schedules mail remove nightly --yes'],
  ['nest-job-queue list mail sche\t', 'list mail scheduled'],
  ['nest-job-queue list mailb\tfai\t', 'list mailbox failed'],
  ['nest-job-queue --json show --prefix app at_\t1', '--json show --prefix app at_--prefix_app 1'],
  [
    'nest-job-queue --redis redis://localhost:1 --cluster show at\t',
    '--redis redis://localhost:1 --cluster show at_--redis_redis//localhost1_--cluster',
  ],
])('%j in bash', async (line, expected) => {
  expect((await typed(line)).trim().replaceAll(/ +/g, ' ')).toBe(expected);
});

it('the completion of zsh and fish knows every command, and those shells read it where they are installed', async () => {
  const commands = await listedCommands();
  for (const shell of ['zsh', 'fish']) {
    const { stdout } = await cli(['completion', shell]);
    for (const command of commands.filter((name) => name !== 'help')) expect(stdout).toContain(command);
    if (isInstalled(shell)) execFileSync(shell, ['-n'], { input: stdout });
  }
}, 60_000);

it('the completion of zsh loads in a shell that has set up none, and that of fish offers no files', async () => {
  const { stdout: zsh } = await cli(['completion', 'zsh']);
  expect(zsh).toMatch(/^\(\( \$\+functions\[compdef\] \)\) \|\| \{ autoload -U \+X compinit && compinit; \}\n/);
  const { stdout: fish } = await cli(['completion', 'fish']);
  expect(fish).toMatch(/^complete -c nest-job-queue -f$/m);
  if (isInstalled('zsh')) {
    const loaded = execFileSync('zsh', ['-f', '-c', `${zsh}\nprint "$_comps[nest-job-queue]"`], {
      encoding: 'utf8',
    });
    expect(loaded).toContain('_nest_job_queue');
    const named = `npx() { print mailbox }\nnest-job-queue() { npx nest-job-queue "$@"; }`;
    const asks = `setopt no_aliases sh_word_split\n_nest_job_queue_names 'nest-job-queue list '`; // as in a completion
    const names = execFileSync('zsh', ['-f', '-c', `${zsh}\n${named}\n${asks}`], { encoding: 'utf8' });
    expect(names).toBe('mailbox\n');
  }
  if (isInstalled('fish')) {
    const asks = `${fish}\ncomplete -C "nest-job-queue list mail "`;
    const offered = execFileSync('fish', ['--no-config', '-c', asks], { encoding: 'utf8' });
    expect(offered.trim().split('\n')).toContain('completed');
    expect(offered).not.toContain('package.json');
  }
}, 60_000);

it('the completion asks a hidden command for the names of the queues, and no command lists it', async () => {
  const prefix = uniqueQueueName();
  await new JobQueue(connect(), 'mailbox', { prefix }).enqueue(1);
  expect(await cli(['queue-names', '--prefix', prefix])).toEqual({ code: 0, stdout: 'mailbox\n', stderr: '' });
  for (const args of [['--help'], ['completion', 'fish']]) {
    expect((await cli(args)).stdout).not.toMatch(/^ *(complete .* -a )?queue-names/m);
  }
}, 60_000);

it.each([
  ['is away', 1],
  ['is silent', 0],
])('offers no queue and no error where Redis %s', async (_, port) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  const at = `redis://127.0.0.1:${port || (server.address() as AddressInfo).port}`;
  expect(await cli(['queue-names', '--redis', at])).toEqual({ code: 0, stdout: '', stderr: '' });
  sockets.forEach((socket) => socket.destroy());
  server.close();
});

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'exit'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
