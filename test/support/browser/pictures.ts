// Pictures of the dashboard for eyes, not for a comparison: in the folder DASHBOARD_PICTURES, where it is set.
// SCREENSHOTS also renews those of the docs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { patiently } from '../faults/wait.js';
import { PHONE } from './axe.js';

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url));

/** Takes the page in its width and a phone's, in light and in dark. */
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

/** Returns whether each chart has the colours of the palette. */
function isDrawn(page: Page): Promise<boolean> {
  return page
    .locator('.plot')
    .evaluateAll((plots) => plots.every(({ dataset }) => dataset['drawn'] === dataset['dark']));
}

/** Takes the picture of the docs: `dashboard-NAME.png`, in light, of the size given. */
export async function stillOf(
  page: Page,
  name: string,
  viewport: { width: number; height: number },
): Promise<void> {
  if (!process.env.SCREENSHOTS) return;
  const size = page.viewportSize()!;
  await page.setViewportSize(viewport);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await patiently(() => isDrawn(page));
  const taken = await page.screenshot({ animations: 'disabled' });
  // 64 colours are enough for text and lines, and a quarter of the size.
  await sharp(taken)
    .png({ palette: true, colours: 64, dither: 0 })
    .toFile(join(IMAGES, `dashboard-${name}.png`));
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await page.setViewportSize(size);
}
