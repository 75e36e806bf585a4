import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives this run a separate folder for the output of its jobs, unless `SHOP_DATA` names one. Its worker processes
 * inherit it. The folder is removed when this process ends.
 */
export function ownFolder(env = process.env): void {
  if (env.SHOP_DATA) return;
  // Another user of the machine cannot have made it before, and cannot read it.
  const folder = mkdtempSync(join(tmpdir(), 'nest-job-queue-shop-'));
  env.SHOP_DATA = folder;
  // Its workers have ended by then: each app waits for its own.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}

/** @throws Error where the process that starts the shop has not called `ownFolder` */
export function dataFolder(env = process.env): string {
  if (!env.SHOP_DATA) throw new Error('SHOP_DATA: expected the folder for what jobs make, found none.');
  return env.SHOP_DATA;
}
