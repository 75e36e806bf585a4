// A command that calls a script has the same bytes as the command that ioredis would write.
import { expect, it, jest } from '@jest/globals';
import { Command, type Redis } from 'ioredis';
import { inside } from '../../support/queue/inside.js';
import { newQueue } from '../../support/worker/workers.js';

const TEXTS = [
  '',
  'ä€😀',
  '\ud800 alone',
  '\r\n$3\r\nabc',
  ...[254, 255, 256, 70_000].map((bytes) => 'x'.repeat(bytes)),
];

it('are the same for texts of any length and any characters', async () => {
  const queue = newQueue();
  await queue.enqueue({});
  const client = inside(queue).connection.client as Redis;
  const sent: Command[] = [];
  const send = client.sendCommand.bind(client);
  jest.spyOn(client, 'sendCommand').mockImplementation((command, ...others) => {
    sent.push(command);
    return send(command, ...others);
  });
  for (const text of TEXTS) {
    const { id } = await queue.enqueue({ text }, { group: `g${text.length}` });
    expect((await queue.get(id))?.payload).toEqual({ text });
  }
  expect(sent.length).toBeGreaterThanOrEqual(2 * TEXTS.length);
  for (const command of sent) {
    const theirs = Command.prototype.toWritable.call(command, {});
    expect(Buffer.from(command.toWritable({}) as string).equals(Buffer.from(theirs as string))).toBe(true);
  }
});
