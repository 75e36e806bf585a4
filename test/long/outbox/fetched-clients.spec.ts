// Clients that are fetched for this: better-sqlite3, which compiles for minutes, and Prisma without its engine.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';
import { fromPg, fromPrisma, type PrismaInstance, type PrismaTransaction } from 'nest-job-queue/outbox';
import { betterSqlite3 } from '../../support/databases/better-sqlite3.js';
import { describeClient, Undo, type Client } from '../../support/databases/client-cases.js';
import { fetchPackages } from '../../support/databases/fetched-packages.js';
import { makeTables } from '../../support/databases/outbox.js';
import { startPostgres, type Postgres } from '../../../scripts/databases/postgres-server.mjs';

const LIMIT_MS = 900_000;
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'outbox-'));
let server: Postgres;
let clients: { sqlite: () => Promise<Client>; prisma: () => Promise<Client> };

beforeAll(async () => {
  server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url });
  await makeTables(fromPg(pool));
  await pool.end();
  const sqlite = await fetchPackages('better-sqlite3', ['better-sqlite3@12.6.2'], { builds: true });
  const Driver = sqlite.require('better-sqlite3') as new (path: string) => unknown;
  const Prisma = await generatePrisma();
  clients = {
    sqlite: () => betterSqlite3(Driver, join(folder, 'better.db')),
    prisma: () => prismaClient(Prisma),
  };
}, LIMIT_MS);

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

interface Prisma extends PrismaInstance {
  $disconnect(): Promise<void>;
}

/** Generates a client. It needs no engine, only a program of its name. */
async function generatePrisma(): Promise<{ new (options: object): Prisma; adapterOf(url: string): object }> {
  const fetched = await fetchPackages('prisma', [
    'prisma@7.10.0',
    '@prisma/client@7.10.0',
    '@prisma/adapter-pg@7.10.0',
  ]);
  const engine = join(fetched.folder, 'engine');
  writeFileSync(engine, '#!/bin/sh\n');
  chmodSync(engine, 0o755);
  mkdirSync(join(fetched.folder, 'prisma'), { recursive: true });
  writeFileSync(
    join(fetched.folder, 'prisma/schema.prisma'),
    'generator client {\n  provider = "prisma-client-js"\n}\n' +
      'datasource db {\n  provider = "postgresql"\n}\nmodel orders {\n  name String @id\n}\n',
  );
  await run('node', ['node_modules/prisma/build/index.js', 'generate'], {
    cwd: fetched.folder,
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: engine, CHECKPOINT_DISABLE: '1' },
  });
  const { PrismaClient } = fetched.require('@prisma/client') as { PrismaClient: new (options: object) => Prisma };
  const { PrismaPg } = fetched.require('@prisma/adapter-pg') as { PrismaPg: new (options: object) => object };
  return Object.assign(PrismaClient, { adapterOf: (url: string) => new PrismaPg({ connectionString: url }) });
}

async function prismaClient(Client: Awaited<ReturnType<typeof generatePrisma>>): Promise<Client> {
  const prisma = new Client({ adapter: Client.adapterOf(server.url) });
  return {
    database: fromPrisma(prisma),
    itself: prisma,
    nested: async (transaction: PrismaTransaction, work) => {
      await transaction.$queryRawUnsafe('SAVEPOINT inside');
      await work(transaction);
      await transaction.$queryRawUnsafe('ROLLBACK TO SAVEPOINT inside');
      await Promise.reject(new Undo());
    },
    close: () => prisma.$disconnect(),
  };
}

describeClient('better-sqlite3', () => clients.sqlite());
describeClient('Prisma', () => clients.prisma());
