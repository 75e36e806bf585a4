// Pictures of the dashboard for eyes, not for a comparison: in the folder DASHBOARD_PICTURES, where it is set.
// SCREENSHOTS also renews those of the docs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { patiently, sleep } from '../faults/wait.js';
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

interface Frame {
  data: string;
  sessionId: number;
}

/**
 * Films the changing page for the docs, `NAME.webp`, where SCREENSHOTS is set. Returns a function that ends the film and
 * writes it, at five pictures a second.
 */
export async function filmOf(page: Page, name: string, width = 960): Promise<() => Promise<void>> {
  if (!process.env.SCREENSHOTS) return () => Promise.resolve();
  const taken: { at: number; data: string }[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Page.screencastFrame', ({ data, sessionId }: Frame) => {
    if (performance.now() - (taken.at(-1)?.at ?? 0) > 190) taken.push({ at: performance.now(), data });
    // The last one comes when the film has ended.
    session.send('Page.screencastFrameAck', { sessionId }).catch(() => {});
  });
  await session.send('Page.startScreencast', { format: 'jpeg', quality: 95 });
  return async () => {
    await sleep(500);
    await session.detach();
    const frames = taken.map(({ data }) => sharp(Buffer.from(data, 'base64')).resize({ width }).png().toBuffer());
    const delay = taken.map(({ at }, i) => Math.round((taken[i + 1]?.at ?? at + 3_000) - at));
    await sharp(await Promise.all(frames), { join: { animated: true } })
      .webp({ delay, loop: 0, quality: 75, effort: 6 })
      .toFile(join(IMAGES, `${name}.webp`));
  };
}
