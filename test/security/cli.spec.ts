// A seeded fuzz of every command of the command line. PROPERTY_SEED draws other arguments.
import { expect, it } from '@jest/globals';
import { attackCommands, AttackedQueue } from './command-attack.js';
import { showRecordsOpenly } from './plants.js';
import { casesOf } from '../support/run/samples.js';

it('the command line shows no secret, changes nothing unasked, steers no terminal and stays up', async () => {
  await attackCommands(await new AttackedQueue().start(), casesOf(200, 25));
});

it('finds a window without redaction', async () => {
  showRecordsOpenly();
  await expect(attackCommands(await new AttackedQueue().start(), 300)).rejects.toThrow('secret out');
});
