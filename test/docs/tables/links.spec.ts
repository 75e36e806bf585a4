// What the documentation names exists: files and headings behind its links, tests, and the sources that its internals name.
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

/** The files of the tree, without what is installed or built; the embedded scripts are a source too. */
const sources = ['src', 'lua', 'test', 'tools', 'scripts', 'examples', 'bench', 'site/.vitepress'].flatMap(
  (folder) => readdirSync(join(root, folder), { recursive: true }).map((file) => `/${folder}/${String(file)}`),
);
const internals = pages.filter((page) => page === 'CONTRIBUTING.md' || page.startsWith(join('docs', 'internals')));

it.each(internals)('%s names sources and folders that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|lua|mjs))`/g)].map(([, name]) => name!);
  expect(named.filter((name) => !sources.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
  const specs = [...text.matchAll(/`([\w./-]+\.spec)`/g)].map(([, name]) => `/${name!}.ts`);
  expect(specs.filter((name) => !sources.some((file) => file.endsWith(name)))).toEqual([]);
  const folders = [...text.matchAll(/`((?:src|lua|scripts|tools|docs|site)\/[\w./-]+)`/g)]
    .map(([, path]) => path!)
    .filter((path) => !/\.(?:ts|lua|mjs|json)$/.test(path) && !sources.includes(`/${path}.lua`));
  expect(folders.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it.each(pages)('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\(([^)\s]+)/g)].map(([, link]) => link!);
  expect(links.filter((link) => !/^\w+:/.test(link) && isBroken(page, link))).toEqual([]);
  const tests = [...text.matchAll(/`(test\/[\w./-]+)`/g)].map(([, path]) => path!);
  expect(tests.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
