import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** What axe-core finds wrong with a page as it is now: rule and nodes. */
export async function violations(page: Page): Promise<string[]> {
  // By evaluate and not by a script element, which the page's policy refuses.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  return (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`)) as string[];
}
