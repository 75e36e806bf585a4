// What a browser loads before it shows the dashboard, compressed.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { Assets } from '#dashboard/page/page.controller.js';
import { UI_FILES } from '#dashboard/page/ui.generated.js';

const assets = new Assets();

/** Returns the bytes of these files in a coding. */
const bytesOf = (names: string[], coding: 'br' | 'gzip') =>
  names.reduce((sum, name) => sum + assets.get(name)![coding].length, 0);

it('is under 60 KB at first load, and asks no other host', () => {
  const html = assets.get('index.html')!.plain.toString();
  const linked = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
  expect(linked.filter((url) => /^(https?:)?\/\//.test(url))).toEqual([]);
  const files = linked.map((url) => url.replace(/^(__BASE__|\.\/)/, '')).filter((name) => name in UI_FILES);
  expect(files.length).toBeGreaterThan(1);
  const bytes = (['gzip', 'br'] as const).map((coding) => bytesOf(['index.html', ...files], coding));
  expect(Math.min(...bytes)).toBeGreaterThan(20 * 1024);
  expect(Math.max(...bytes)).toBeLessThan(60 * 1024);
  const told = [...readFileSync('docs/dashboard.md', 'utf8').matchAll(/first load is (\d+) KB/g)];
  expect(told).toHaveLength(2);
  for (const [i, [, each]] of told.entries()) {
    expect(Math.abs(bytes[i]! / 1024 - Number(each))).toBeLessThan(1.5);
  }
});
