// The README's quickstart, as written: type-checked, compiled, run, and stopped.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { freePort } from '../../../scripts/redis/redis-server.mjs';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { startProcess } from '../../support/browser/shop.js';

jest.setTimeout(120_000);

const root = fileURLToPath(new URL('../../..', import.meta.url));
mkdirSync(join(root, '.cache'), { recursive: true });
// Inside of the project, where its packages are found.
const folder = mkdtempSync(join(root, '.cache', 'quickstart-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the first block of code after the mark. */
function quickstart(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  return /<!-- quickstart:[^]*?```ts\n([^]*?)```/.exec(readme)![1]!;
}

/** Compiles the code with the library's sources in the package's place; answers the file to run. */
function compile(code: string): string {
  const name = folder.slice(root.length);
  // A package of its own: within ours, Node would take the name for ours, and run what was built last.
  writeFileSync(join(folder, 'package.json'), '{ "name": "quickstart", "type": "module" }');
  writeFileSync(join(folder, 'main.ts'), code);
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: join(folder, 'out'),
      paths: { 'nest-job-queue': [join(root, 'src/index.ts')] },
    },
    include: [],
    files: ['main.ts', join(root, 'src/queue/redis/cluster/cluster-key-slot.d.ts')],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    stdio: 'inherit',
  });
  writeFileSync(join(folder, 'out/src/package.json'), '{ "type": "module", "exports": "./index.js" }');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(folder, 'out/src'), join(folder, 'node_modules/nest-job-queue'));
  return join(folder, 'out', name, 'main.js');
}

it('the quickstart is short, compiles, runs a job and stops', async () => {
  const code = quickstart();
  expect(code.trim().split('\n').length).toBeLessThan(70);
  const main = compile(code);
  const redis = await startOwnRedis({ args: ['--appendonly', 'yes'] }); // else the audit at boot warns
  const port = await freePort();
  const app = startProcess(process.execPath, [main], { REDIS_URL: redis.url, PORT: String(port) });
  await app.prints(/Nest application successfully started/);

  const url = `http://localhost:${port}`;
  const { body } = await request(url).post('/signups').type('form').send({ to: 'ada@example.com' }).expect(201);
  const result = await request(url)
    .get(`/signups/${(body as { id: string }).id}`)
    .expect(200);
  expect(result.body).toEqual({ text: 'Welcome, ada@example.com!', attempt: 1 });

  const { body: unknown } = await request(url).get('/signups/nobody').expect(404);
  expect((unknown as Error).message).toContain('has no job nobody');

  expect(await app.kill('SIGTERM')).toBe('SIGTERM');
  expect(app.output).not.toMatch(/WARN|ERROR/);
});
