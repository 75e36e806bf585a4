// Pictures of the dashboard for eyes, not for a comparison: of the folder DASHBOARD_PICTURES, where it is set.
import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { patiently } from '../faults/wait.js';
import { PHONE } from './axe.js';

/** Takes a page as it is, wide and as a phone, in light and in dark. */
export async function pictureOf(page: Page, name: string): Promise<void> {
  const folder = process.env.DASHBOARD_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const size = page.viewportSize()!;
  for (const [look, viewport] of [['wide', size] as const, ['phone', PHONE] as const]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await patiently(() => isDrawn(page));
      const path = `${folder}/${name}-${look}-${colorScheme}.png`;
      await page.screenshot({ path, fullPage: look === 'phone', animations: 'disabled' });
    }
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(size);
}

/** Whether each chart has the colours of the palette. */
function isDrawn(page: Page): Promise<boolean> {
  return page
    .locator('.plot')
    .evaluateAll((plots) => plots.every(({ dataset }) => dataset['drawn'] === dataset['dark']));
}
