import { runOneJob } from './app.js';

void main();

async function main(): Promise<void> {
  const result = await runOneJob();
  if (result !== 42) throw new Error(`expected 42, found ${result}`);
  console.log('consumer: a job was done');
}
