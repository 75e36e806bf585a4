// What a browser loads before it shows the dashboard, compressed.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { Assets } from '#dashboard/page/assets.js';
import { UI_FILES } from '#dashboard/page/ui.generated.js';

const assets = new Assets();
const bytesOf = (name: string) => assets.get(name)!.gzip;

it('is under 60 KB at first load, and asks no other host', () => {
  const html = assets.get('index.html')!.plain.toString();
  const linked = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
  expect(linked.filter((url) => /^(https?:)?\/\//.test(url))).toEqual([]);
  const files = linked.map((url) => url.replace(/^(__BASE__|\.\/)/, '')).filter((name) => name in UI_FILES);
  expect(files.length).toBeGreaterThan(1);
  const bytes = ['index.html', ...files].reduce((sum, name) => sum + bytesOf(name).length, 0);
  expect(bytes).toBeGreaterThan(20 * 1024);
  expect(bytes).toBeLessThan(60 * 1024);
  const [, told] = /first load is (\d+) KB/.exec(readFileSync('docs/dashboard.md', 'utf8'))!;
  expect(Math.abs(bytes / 1024 - Number(told))).toBeLessThan(1.5);
});
