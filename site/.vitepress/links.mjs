// Links of the pages are written for the forge. The site leads to its own pages where it has them, else to the forge.
import { GROUPS } from './groups.mjs';

export const REPOSITORY = 'https://github.com/nest-job-queue/nest-job-queue';

/** The page of the site that has a section of the README. */
const README_PAGES = { quickstart: 'start', 'see-it-run': 'start' };

/** Returns the link on the site. @param href as it stands in docs, or in a part of the README */
export function siteLink(href) {
  if (/^(?:[a-z]+:|#|\/)/.test(href)) return href;
  if (href.includes('images/')) return href.replace(/^docs\//, '../');
  const path = href.replace(/^\.\//, '');
  const [, section] = /^\.\.\/README\.md(?:#(.*))?$/.exec(path) ?? [];
  if (path.startsWith('../README.md'))
    return `/${README_PAGES[section] ?? 'guide'}.md${section ? `#${section}` : ''}`;
  if (path.startsWith('docs/internals')) return `${REPOSITORY}/blob/main/${path}`;
  if (path.startsWith('docs/')) return `/${path.slice('docs/'.length)}`;
  if (/^\.\.\/[a-z-]+\.md/.test(path)) return `/${path.slice('../'.length)}`; // from a folder of docs
  if (path.startsWith('../')) return `${REPOSITORY}/blob/main/${path.slice('../'.length)}`;
  if (path.startsWith('internals/')) return `${REPOSITORY}/blob/main/docs/${path}`;
  if (/^(?:examples|bench|CHANGELOG|CONTRIBUTING|SECURITY)/.test(path)) return `${REPOSITORY}/blob/main/${path}`;
  return href;
}

/** Adds a rule to the Markdown parser that rewrites links and images. */
export function rewriteLinks(markdown) {
  markdown.core.ruler.push('site-links', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = token.type === 'image' ? 'src' : 'href';
      const href = token.attrGet?.(name);
      if (href && (token.type === 'image' || token.type === 'link_open')) token.attrSet(name, siteLink(href));
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
