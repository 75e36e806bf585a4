// Every relative link of the documentation leads to a file that exists, and so does every path of a test that it names.
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

it.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, link]) => link!);
  const broken = links.filter((link) => !/^\w+:/.test(link) && !existsSync(join(root, dirname(page), link)));
  expect(broken).toEqual([]);
  const tests = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
