// Commands that the pages offer to copy.
import { expect, it } from '@jest/globals';
import { asCommand } from '#inspect/words.js';

it.each([
  [['show', 'email', 'a1-b2'], 'npx nest-job-queue show email a1-b2'],
  [['show', 'eu/mail:x', 'order 7; rm -rf'], "npx nest-job-queue show eu/mail:x 'order 7; rm -rf'"],
  [['show', 'email', "it's $HOME"], String.raw`npx nest-job-queue show email 'it'\''s $HOME'`],
])('%j', (words, command) => {
  expect(asCommand(...words)).toBe(command);
});
