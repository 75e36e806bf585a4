// The charts of the control page: the figures in their table, and the drawn lines.
import type { Page } from 'playwright-core';
import { patiently } from '../faults/wait.js';

/** Returns the rows of the table, the newest first, without the time. */
export async function figures(page: Page): Promise<(number | string)[][]> {
  const rows = await page.locator('#figures tbody tr').allInnerTexts();
  return rows.map((row) =>
    row
      .split('\t')
      .slice(1)
      .map((cell) => (/^[\d,]+$/.test(cell) ? Number(cell.replaceAll(',', '')) : cell)),
  );
}

/**
 * Reads from the pixels of a chart the values of the line of a colour, from left to right. `top` is the value at the
 * upper edge.
 */
async function lineIn(
  page: Page,
  { chart, colour, top }: { chart: string; colour: string; top: number },
): Promise<(number | undefined)[]> {
  const heights = (await page.evaluate(`(() => {
    const plot = document.querySelector('${chart} .u-over').getBoundingClientRect();
    const canvas = document.querySelector('${chart} canvas');
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    const area = [plot.x - box.x, plot.y - box.y, plot.width, plot.height].map((each) => Math.round(each * scale));
    const [, , width, height] = area;
    const { data } = canvas.getContext('2d').getImageData(...area);
    const hex = getComputedStyle(document.documentElement).getPropertyValue('${colour}');
    const wanted = hex.match(/\\w\\w/g).map((part) => parseInt(part, 16));
    return Array.from({ length: width }, (_, column) => {
      for (let row = 0; row < height; row++) {
        const pixel = data.slice((row * width + column) * 4);
        if (wanted.every((part, i) => Math.abs(pixel[i] - part) < 24)) return 1 - row / height;
      }
      return null;
    });
  })()`)) as (number | null)[];
  return heights.map((share) => (share === null ? undefined : share * top));
}

/** Returns the values of a line at seven places from left to right, once it is drawn. */
export async function sevenOf(page: Page, line: Parameters<typeof lineIn>[1]): Promise<(number | undefined)[]> {
  const heights = await patiently(async () => {
    const all = await lineIn(page, line);
    return all.length > 0 && all;
  });
  return [0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9].map((share) => heights[Math.round(share * (heights.length - 1))]);
}
