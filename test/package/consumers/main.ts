import { runOneJob } from './app.js';

void runOneJob().then((result) => {
  if (result !== 42) throw new Error(`expected 42, found ${result}`);
  console.log('consumer: a job was done');
});
