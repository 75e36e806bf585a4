// The skills of the package name commands, exports and pages that exist.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import * as library from 'nest-job-queue';
import { rowsOf } from '../table.js';

const root = new URL('../../../', import.meta.url);
const skills = readdirSync(new URL('skills', root)).map(
  (name) => [name, readFileSync(new URL(`skills/${name}/SKILL.md`, root), 'utf8')] as const,
);

it.each(skills)('%s has its name and says when to use it', (name, text) => {
  const [, head] = /^---\n([^]*?)\n---\n/.exec(text)!;
  expect(head).toContain(`name: ${name}\n`);
  expect(/description: (.*)/.exec(head!)![1]!.length).toBeGreaterThan(50);
});

it.each(skills)('%s names commands that exist', (_, text) => {
  const known = rowsOf('commands', 'docs/cli.md').join('\n');
  const named = [...text.matchAll(/npx nest-job-queue ([a-z-]+)/g)].map(([, command]) => command!);
  expect(named.filter((command) => !known.includes(`\`${command}`))).toEqual([]);
});

it.each(skills)('%s imports only exports of the package, and links pages that exist', (_, text) => {
  const imported = [...text.matchAll(/import \{([^}]*)\} from 'nest-job-queue'/g)].flatMap(([, names]) =>
    names!.split(',').map((name) => name.trim()),
  );
  expect(imported.filter((name) => !name.startsWith('type ') && !(name in library))).toEqual([]);
  const pages = [...text.matchAll(/blob\/main\/(docs\/[\w-]+\.md)/g)].map(([, page]) => page!);
  expect(pages.filter((page) => !existsSync(new URL(page, root)))).toEqual([]);
});
