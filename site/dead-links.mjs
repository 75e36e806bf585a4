// Finds dead links of the built site: pages, headings, files and, behind links to the forge, paths of this repository.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './.vitepress/links.mjs';

const REPOSITORY_PATH = new RegExp(`^${REPOSITORY}/(?:blob|tree|raw)/main/([^#]*)`);

/**
 * Returns each dead link as `page: link`.
 * @param folder of the built site
 * @param repository folder, behind links to the forge
 */
export function deadLinks(folder, repository) {
  const pages = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((file) => /\.(?:html|md)$|^llms\.txt$/.test(file));
  return pages.flatMap((page) =>
    linksOf(join(folder, page))
      .filter((link) => !isAlive(link, page, folder, repository))
      .map((link) => `${page}: ${link}`),
  );
}

const known = new Map();

/** Reads each file once. */
function read(file) {
  if (!known.has(file)) known.set(file, readFileSync(file, 'utf8'));
  return known.get(file);
}

function linksOf(file) {
  const text = read(file);
  const found = file.endsWith('.html')
    ? [...text.matchAll(/\s(?:href|src|srcset|poster)="([^"]*)"/g)]
    : [...text.replace(/^[ \t]*```[^]*?^[ \t]*```/gm, '').matchAll(/\]\(([^)\s]+)/g)];
  return [...new Set(found.map(([, link]) => link.replaceAll('&amp;', '&')))];
}

function isAlive(link, page, folder, repository) {
  const [, path] = REPOSITORY_PATH.exec(link) ?? [];
  if (path) return existsSync(join(repository, decodeURIComponent(path)));
  const { origin, pathname, hash } = new URL(link, `http://site/${page}`);
  if (origin !== 'http://site') return true;
  const target = join(folder, decodeURIComponent(pathname));
  const file = [target, `${target}.html`, join(target, 'index.html')].find(
    (each) => existsSync(each) && statSync(each).isFile(),
  );
  if (!file) return false;
  if (!hash || !file.endsWith('.html')) return true;
  return read(file).includes(` id="${decodeURIComponent(hash.slice(1))}"`);
}
