// A seeded fuzz of every command of the command line. PROPERTY_SEED draws other arguments.
import { describe, expect, it, jest } from '@jest/globals';
import { ShownContent } from '#queue/store/shown-content.js';
import { attackCommands, AttackedQueue } from './command-attack.js';

it('the command line shows no secret, changes nothing unasked, steers no terminal and stays up', async () => {
  await attackCommands(await new AttackedQueue().start(), 200);
});

describe('finds', () => {
  it('a window without redaction', async () => {
    jest.spyOn(ShownContent.prototype, 'record').mockImplementation((job) => job);
    await expect(attackCommands(await new AttackedQueue().start(), 300)).rejects.toThrow('secret out');
  });
});
