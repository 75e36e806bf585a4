// node quickstart.mjs COMMAND ARGS…: runs a quickstart as its reader does. The command starts the app. Then a request
// signs up, another reads the result, and one asks for an unknown id.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
probe.close();

const [command, ...args] = process.argv.slice(2);
const app = spawn(command, args, { env: { ...process.env, PORT: String(port) } });
let output = '';
const started = new Promise((resolve, reject) => {
  const read = (chunk) => {
    output += chunk;
    if (output.includes('Nest application successfully started')) resolve();
  };
  app.stdout.on('data', read);
  app.stderr.on('data', read);
  app.once('exit', () => reject(new Error(`the app ended:\n${output}`)));
});
await started;
try {
  const url = `http://127.0.0.1:${port}/signups`;
  const body = new URLSearchParams({ to: 'ada@example.com' });
  const { id } = await (await fetch(url, { method: 'POST', body })).json();
  assert.deepEqual(await (await fetch(`${url}/${id}`)).json(), { text: 'Welcome, ada@example.com!', attempt: 1 });
  assert.equal((await fetch(`${url}/nobody`)).status, 404);
} finally {
  app.removeAllListeners('exit');
  app.kill('SIGTERM');
  await once(app, 'exit');
}
console.log('quickstart: works');
