// The completion, typed in a real shell on a terminal.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cli } from './run-cli.js';

const folder = mkdtempSync(join(tmpdir(), 'completion-'));
const script = join(folder, 'completion.bash');

beforeAll(async () => {
  const { stdout } = await cli(['completion', 'bash']);
  writeFileSync(script, `${stdout}nest-job-queue() { echo "called with:" "$@."; }\nPS1='ready> '\n`);
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
])(
  '%j in bash',
  async (line, expected) => {
    expect((await typed(line)).trim().replaceAll(/ +/g, ' ')).toBe(expected);
  },
  30_000,
);

it('of zsh and fish knows every command, and those shells read it where they are installed', async () => {
  const { stdout: help } = await cli(['--help']);
  const commands = [...help.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!);
  for (const shell of ['zsh', 'fish']) {
    const { stdout } = await cli(['completion', shell]);
    for (const command of commands.filter((name) => name !== 'help')) expect(stdout).toContain(command);
    if (isInstalled(shell)) execFileSync(shell, ['-n'], { input: stdout });
  }
}, 60_000);

it('of zsh loads in a shell that has not set up its completion, and of fish offers no files', async () => {
  const { stdout: zsh } = await cli(['completion', 'zsh']);
  expect(zsh).toMatch(/^\(\( \$\+functions\[compdef\] \)\) \|\| \{ autoload -U \+X compinit && compinit; \}\n/);
  const { stdout: fish } = await cli(['completion', 'fish']);
  expect(fish).toMatch(/^complete -c nest-job-queue -f$/m);
  if (isInstalled('zsh')) {
    const loaded = execFileSync('zsh', ['-f', '-c', `${zsh}\nprint "$_comps[nest-job-queue]"`], {
      encoding: 'utf8',
    });
    expect(loaded).toContain('_nest_job_queue');
  }
  if (isInstalled('fish')) {
    const asks = `${fish}\ncomplete -C "nest-job-queue list mail "`;
    const offered = execFileSync('fish', ['--no-config', '-c', asks], { encoding: 'utf8' });
    expect(offered.trim().split('\n')).toContain('completed');
    expect(offered).not.toContain('package.json');
  }
}, 60_000);

function isInstalled(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'exit'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
