// The command of the outbox: its tables, their check, and bad rows. It calls no Redis.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { fromLibsql, outboxSql } from 'nest-job-queue/outbox';
import { EXIT } from '#cli/exit-codes.js';
import { makeTables, TestOutbox } from '../support/databases/outbox.js';
import { cli } from '../cli/run-cli.js';

const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
const made: { close(): void }[] = [];
let url: string;
let client: ReturnType<typeof createClient>;

beforeEach(() => {
  const path = join(folder, `${made.length}.db`);
  writeFileSync(path, '');
  url = `file:${path}`;
  client = createClient({ url });
  made.push(client);
});

afterAll(() => {
  made.forEach((each) => each.close());
  rmSync(folder, { recursive: true });
});

const outbox = (...args: string[]) =>
  cli(['outbox', ...args], { DATABASE_URL: url, REDIS_URL: 'redis://nowhere.invalid' });

const refused = async (...args: string[]) =>
  (await cli(['outbox', 'check', ...args], { DATABASE_URL: 'mongodb://u:secret@h/d' })).stderr;

describe('outbox', () => {
  it('prints the tables of each database', async () => {
    for (const dialect of ['postgres', 'mysql', 'sqlite'] as const) {
      const { code, stdout } = await outbox('sql', '--dialect', dialect);
      expect(code).toBe(EXIT.ok);
      expect(stdout.replaceAll(/;\n+/g, ';').split(';').slice(0, -1)).toEqual(outboxSql(dialect));
    }
    expect(await outbox('sql')).toMatchObject({
      code: EXIT.usage,
      stderr: 'Pass --dialect postgres, mysql, sqlite.\n',
    });
  });

  it('makes no file for a wrong path', async () => {
    url += '-wrong';
    const path = url.slice('file:'.length);
    expect(await outbox('check')).toMatchObject({
      code: EXIT.unreachable,
      stderr: `Could not find the database of the outbox: there is no file ${path}.\n`,
    });
    expect(existsSync(path)).toBe(false);
  });

  it('names the missing part, and the remedy', async () => {
    const { code, stdout } = await outbox('check');
    expect(code).toBe(EXIT.failed);
    expect(stdout).toContain('✕ The table job_outbox is missing.');
    expect(stdout).toContain('next:  compare your migration with: npx nest-job-queue outbox sql --dialect sqlite');
    await makeTables(fromLibsql(client));
    await client.execute('DROP INDEX job_outbox_aside');
    expect((await outbox('list')).stdout).toContain('The table job_outbox has no index on (not_before).');
  });

  it('shows how many rows wait and which are bad, sends them again and discards one', async () => {
    const database = fromLibsql(client);
    await makeTables(database);
    const t = new TestOutbox(database);
    made.push(t);
    expect(await outbox('check')).toMatchObject({
      code: EXIT.ok,
      stdout: expect.stringContaining('the outbox flows: 0 rows'),
    });
    await database.begin((transaction) => t.enqueue(transaction as object, 1));
    await database.begin((transaction) => t.enqueue(transaction as object, 'bad'));
    await client.execute(
      `UPDATE job_outbox SET options = '{{', attempts = 19, last_error = 'no \u001B[31m JSON' WHERE payload = '"bad"'`,
    );
    await client.execute(`UPDATE job_outbox SET failed_at = 1 WHERE payload = '"bad"'`);

    const checked = await outbox('check');
    expect(checked.code).toBe(EXIT.warning);
    expect(checked.stdout).toContain('▲ 1 row of the outbox failed for good');
    expect(checked.stdout).toContain('the tables are right; 1 row waits');
    expect(checked.stdout).toMatch(/^2 .*failed +19 .*no \\x1b\[31m JSON/m);
    expect(JSON.parse((await outbox('check', '--json')).stdout)).toMatchObject({
      severity: 'warning',
      stats: { waiting: 1, failed: 1 },
      bad: [{ seq: '2' }],
    });
    expect(JSON.parse((await outbox('list', '--json', '--limit', '1')).stdout)).toEqual([
      expect.objectContaining({ seq: '2', isFailed: true }),
    ]);

    expect((await outbox('retry')).stdout).toBe('1 refused or failed rows will be sent again\n');
    expect(await outbox('discard', '2', '--yes')).toMatchObject({ code: EXIT.notFound });
    await client.execute('UPDATE job_outbox SET failed_at = 1 WHERE seq = 2');
    expect(await outbox('discard', '2')).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining('This would delete row 2'),
    });
    expect((await outbox('discard', '2', '--yes')).stdout).toBe('row 2 discarded\n');
    expect(await t.rows()).toBe(1);
    expect(await outbox('discard', 'x')).toMatchObject({ code: EXIT.usage });
  });

  it('refuses an address that it does not know, or one that shows a password', async () => {
    expect(await refused()).toMatch(/Expected the database of the outbox as postgres:.*found ".@h/);
    expect(await refused()).not.toContain('secret');
    expect(await refused('--database', 'postgres://u:secret@h/d')).toContain('Put the address into DATABASE_URL');
    const away = await cli(['outbox', 'check', '--database', 'postgres://127.0.0.1:1/d']);
    expect(away).toMatchObject({
      code: EXIT.unreachable,
      stderr: expect.stringContaining('Could not reach the database'),
    });
  });
});
