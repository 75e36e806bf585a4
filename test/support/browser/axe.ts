import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns axe-core's findings on the current page: rules and nodes. */
export async function violations(page: Page): Promise<string[]> {
  // By evaluate and not by a script element, which the page's policy refuses.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  await page.evaluate(TRANSITIONS_END); // what fades has too little contrast
  return (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })
    .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 120)).join(' | ')))`)) as string[];
}

/** A script that waits for the end of all running transitions. */
const TRANSITIONS_END = `Promise.allSettled(document.getAnimations()
  .filter((each) => each instanceof CSSTransition).map(({ finished }) => finished)).then(() => {})`;

/** A small phone. */
export const PHONE = { width: 360, height: 780 };

/**
 * Checks light and dark mode, in the current width and a phone's. Content wider than the screen counts as a finding.
 */
export async function violationsInEveryLook(page: Page): Promise<string[]> {
  const size = page.viewportSize()!;
  const found: string[] = [];
  for (const viewport of [size, PHONE]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      // Less motion, because text that fades away has no contrast meanwhile.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.evaluate(TRANSITIONS_END);
      const tooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      const all = [...(await violations(page)), ...(tooWide ? ['wider than the screen'] : [])];
      found.push(...all.map((each) => `${colorScheme}, ${viewport.width} px: ${each}`));
    }
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(size);
  return found;
}
