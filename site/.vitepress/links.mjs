// Links of the pages are written for the forge. The site leads to its own pages where it has them, else to the forge.
import { readFileSync } from 'node:fs';
import { GROUPS } from './groups.mjs';

export const REPOSITORY = 'https://github.com/nest-job-queue/nest-job-queue';

/** The page of the site that includes a section of the README, by the anchor of its heading. */
const README_PAGES = readmePages(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'));

function readmePages(readme) {
  const pages = {};
  for (const [, page, text] of readme.matchAll(/^<!-- #region (\w+) -->$([^]*?)^<!-- #endregion \1 -->$/gm)) {
    for (const [, heading] of text.matchAll(/^##+ (.*)$/gm)) {
      pages[heading.toLowerCase().replaceAll(',', '').replaceAll(' ', '-')] = page;
    }
  }
  return pages;
}

/**
 * Returns the link on the site.
 * @param href as it stands in docs, or in a part of the README
 * @param page of the site that has the link
 */
export function siteLink(href, page = '') {
  const other = href.startsWith('#') && /^(?:start|guide)$/.test(page) ? README_PAGES[href.slice(1)] : undefined;
  if (other && other !== page) return `/${other}.md${href}`;
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  if (href.startsWith('monitoring/')) return href.replace('monitoring', '/files');
  if (href.includes('images/')) return href.replace(/^docs\//, '../');
  const path = href.replace(/^\.\//, '');
  const [, section] = /^\.\.\/README\.md(?:#(.*))?$/.exec(path) ?? [];
  if (path === '../README.md') return '/guide.md';
  if (section) {
    const part = README_PAGES[section];
    return part ? `/${part}.md#${section}` : `${REPOSITORY}#${section}`;
  }
  if (path.startsWith('docs/internals')) return `${REPOSITORY}/blob/main/${path}`;
  if (path.startsWith('docs/')) return `/${path.slice('docs/'.length)}`;
  if (/^\.\.\/[a-z-]+\.md/.test(path)) return `/${path.slice('../'.length)}`; // from a folder of docs
  if (path.startsWith('../')) return `${REPOSITORY}/blob/main/${path.slice('../'.length)}`;
  if (path.startsWith('internals/')) return `${REPOSITORY}/blob/main/docs/${path}`;
  if (/^(?:examples|bench|CHANGELOG|CONTRIBUTING|SECURITY)/.test(path)) return `${REPOSITORY}/blob/main/${path}`;
  return href;
}

/** Leads to the image on the forge: a page in Markdown does not know the name that the build gives to the image. */
export const forgeImages = (link) => link.replace(/^(?:\.\.\/)?(?=images\/)/, `${REPOSITORY}/raw/main/docs/`);

/** Adds a rule to the Markdown parser that rewrites links and images. */
export function rewriteLinks(markdown) {
  markdown.core.ruler.push('site-links', ({ tokens, env }) => {
    const page = env.relativePath?.replace(/^site\/|\.md$/g, '');
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = token.type === 'image' ? 'src' : 'href';
      const href = token.attrGet?.(name);
      if (href && (token.type === 'image' || token.type === 'link_open')) token.attrSet(name, siteLink(href, page));
    }
  });
}

/** Pages of matrices, which use the whole width. */
const WIDE_PAGES = ['combinations.md', 'performance.md', 'options.md'];

/** Gives a page its layout and description. The pages themselves have no front matter, which the forge would show as a table. */
export function layOut(page) {
  if (/^(?:start|guide)\.md$/.test(page.relativePath)) page.filePath = '../README.md'; // for "Edit this page"
  const link = `/${page.relativePath.replace(/\.md$/, '')}`;
  page.description ||= GROUPS.flatMap(({ items }) => items).find((item) => item.link === link)?.description ?? '';
  if (WIDE_PAGES.includes(page.relativePath)) Object.assign(page.frontmatter, { pageClass: 'wide', aside: false });
}
