// llms.txt: the pages in the order of the sidebar, each with its sentence.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GROUPS } from './groups.mjs';

/** Returns the text of llms.txt. */
export function contents() {
  const groups = GROUPS.map(({ text, items }) => {
    const rows = items.map(({ text: title, link, description, target }) => {
      const address = target ? link : `${link}.md`;
      return `- [${title}](${address}): ${description}`;
    });
    return [`## ${text}`, '', ...rows, ''].join('\n');
  });
  return [
    '# nest-job-queue',
    '',
    '> Background jobs for NestJS on Redis: at-least-once delivery, claims fenced by a token, server time only.',
    '',
    'All pages in one file: [llms-full.txt](/llms-full.txt).',
    '',
    ...groups,
  ].join('\n');
}

export function writeContents(folder) {
  writeFileSync(join(folder, 'llms.txt'), contents());
}
