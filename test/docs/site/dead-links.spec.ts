// The build of the site names dead links: pages, headings, files, and paths behind links to the forge.
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { deadLinks } from '../../../site/dead-links.mjs';
import { folderWith } from '../../scripts/folder.js';

const FORGE = 'https://github.com/nest-job-queue/nest-job-queue/blob/main';
const repository = fileURLToPath(new URL('../../..', import.meta.url));
const link = (href: string) => `<a href="${href}">x</a>`;

it('names each dead link, and none that leads somewhere', () => {
  const alive = [
    '/limits',
    './limits#rate',
    '#top',
    '/files/alerts.yml',
    `${FORGE}/bench/README.md`,
    'https://keda.sh',
  ];
  const dead = ['/gone', '/limits#gone', '#gone', '/files/gone.json', `${FORGE}/docs/gone.md`];
  const site = folderWith({
    'index.html': `<h1 id="top"></h1><img src="/gone.webp">${[...alive, ...dead].map(link).join('')}`,
    'limits.html': '<h2 id="rate"></h2>',
    'limits.md': '[health](guide.md#health) and [rate](/limits.md#rate)\n```\n[code](gone.md)\n```\n',
    'api/classes/Job.html': link('../'),
    'files/alerts.yml': '',
  });
  const found = deadLinks(site, repository).toSorted();
  const expected = ['/gone.webp', ...dead].map((each) => `index.html: ${each}`);
  expect(found).toEqual(['api/classes/Job.html: ../', ...expected, 'limits.md: guide.md#health'].toSorted());
});
