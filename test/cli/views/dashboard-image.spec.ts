// examples/dashboard/Dockerfile, without Docker: what it installs and starts is there, and its health check tells the truth.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../../support/faults/wait.js';
import { cliHere } from '../run-cli.js';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const dockerfile = read('examples/dashboard/Dockerfile');
const manifest = JSON.parse(read('package.json')) as {
  version: string;
  bin: Record<string, string>;
  engines: { node: string };
  peerDependencies: Record<string, string>;
};

/** Returns the words of an instruction in its JSON form. */
function wordsOf(instruction: string): string[] {
  return JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(dockerfile)![1]!) as string[];
}

/** Runs a program of Node beside this process, which serves meanwhile. Returns whether it ends with 0. */
async function runs(program: string): Promise<boolean> {
  const [code] = (await once(spawn(process.execPath, ['-e', program]), 'exit')) as [number | null];
  return code === 0;
}

it('installs this version on a supported Node, with packages that the library knows', () => {
  expect(/^ARG VERSION=(.*)$/m.exec(dockerfile)![1]).toBe(manifest.version);
  const node = Number(/^FROM node:(\d+)-slim$/m.exec(dockerfile)![1]);
  expect(node).toBeGreaterThanOrEqual(Number(manifest.engines.node.replace('>=', '')));
  const installed = /"nest-job-queue@\$\{VERSION\}" (.*)$/m.exec(dockerfile)![1]!.split(' ');
  const known = [...Object.keys(manifest.peerDependencies), '@nestjs/platform-express'];
  expect(installed.filter((name) => !known.includes(name))).toEqual([]);
});

it('starts the dashboard, which its health check finds, and no longer once it has ended', async () => {
  const [node, file, ...args] = wordsOf('ENTRYPOINT');
  expect([node, file]).toEqual(['node', `node_modules/nest-job-queue/${manifest.bin['nest-job-queue']!.slice(2)}`]);
  const anyPort = args.map((word, i) => (args[i - 1] === '--port' ? '0' : word));
  const running = cliHere([...anyPort, '--json']);
  await eventually(() => Promise.resolve(running.ran.stdout.includes('url')), { timeoutMs: 30_000 });
  const { port } = new URL((JSON.parse(running.ran.stdout) as { url: string }).url);
  const [program, option, check] = wordsOf('HEALTHCHECK CMD');
  expect([program, option]).toEqual(['node', '-e']);
  expect(check).toContain(`:${/^EXPOSE (\d+)$/m.exec(dockerfile)![1]!}/`);
  const isHealthy = () => runs(check!.replace(/:\d+\//, `:${port}/`));
  expect(await isHealthy()).toBe(true);
  process.emit('SIGTERM');
  expect((await running.over).code).toBe(EXIT.ok);
  expect(await isHealthy()).toBe(false);
});
