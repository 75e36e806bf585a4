import { expect, it } from '@jest/globals';
import { openAny } from '../support/browser/browser.js';

it('pages that open at once share the browser that is closed after the file', async () => {
  const pages = await Promise.all([openAny('about:blank'), openAny('about:blank')]);
  const [one, other] = pages.map((page) => page.context().browser());
  expect(one === other).toBe(true);
});
