import assert from 'node:assert/strict';
import { runApp } from './app.js';

// Otherwise a promise that stays pending would end the process with 0.
process.exitCode = 1;
void main().then(() => (process.exitCode = 0));

async function main(): Promise<void> {
  assert.deepEqual(await runApp(), { doubled: 42, squared: 36, health: 'up' });
  console.log('consumer: a job, a thread and a health check');
}
