// Every relative link of the documentation leads to a file and a heading that exist, and so does every path of a test that it names.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pages = [
  ...readdirSync(root).filter((file) => file.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map((file) => join('docs', String(file)))
    .filter((file) => file.endsWith('.md')),
];

/** Returns the anchors of a page: those of its headings, as GitHub makes them, and its own. */
function anchorsOf(file: string): Set<string> {
  const text = readFileSync(file, 'utf8').replace(/^```[^]*?^```/gm, '');
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id!)]);
}

function isBroken(page: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string?];
  const file = path === '' ? join(root, page) : join(root, dirname(page), path);
  return !existsSync(file) || (anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).has(anchor));
}

it.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\(([^)\s]+)/g)].map(([, link]) => link!);
  expect(links.filter((link) => !/^\w+:/.test(link) && isBroken(page, link))).toEqual([]);
  const tests = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
