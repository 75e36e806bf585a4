import assert from 'node:assert/strict';
import { runApp } from './app.js';

void main();

async function main(): Promise<void> {
  assert.deepEqual(await runApp(), { doubled: 42, squared: 36, health: 'up' });
  console.log('consumer: a job, a thread and a health check');
}
