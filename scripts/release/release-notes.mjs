// Prints the notes of a release: `node scripts/release/release-notes.mjs v0.2.0`. Refuses a tag whose version is not that
// of the packages and the changelog. With `--draft` the changelog needs no date yet.
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Returns the part of the changelog about a tag. Its links lead to the files of that tag, because a release has no folder.
 *
 * @param isDraft true if its part may be without a date
 * @throws Error if a version differs, or its part has no date
 */
export function releaseNotes(root, tag, isDraft = false) {
  const read = (file) => readFileSync(join(root, file), 'utf8');
  for (const file of ['package.json', 'package-lock.json', 'codemod/package.json']) {
    const { version } = JSON.parse(read(file));
    if (tag !== `v${version}`)
      throw new Error(`${file}: expected version ${tag.slice(1)} of the tag, found ${version}`);
  }
  const part = read('CHANGELOG.md')
    .split(/^## /m)
    .find((text) => text.startsWith(`${tag.slice(1)} `));
  if (!(part && isDraft) && !/^\S+ - \d{4}-\d\d-\d\d\n/.test(part ?? '')) {
    throw new Error(
      `CHANGELOG.md: expected "## ${tag.slice(1)} - YYYY-MM-DD", found ${part?.split('\n')[0] ?? 'no part'}`,
    );
  }
  const files = `${homeOf(read('package.json'))}/blob/${tag}/`;
  return part
    .slice(part.indexOf('\n'))
    .trim()
    .replace(/\]\((?!https?:|#)/g, `](${files}`);
}

function homeOf(manifest) {
  const { repository } = JSON.parse(manifest);
  return repository.url.replace(/^git\+|\.git$/g, '');
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const isDraft = process.argv.includes('--draft');
  console.log(releaseNotes(fileURLToPath(new URL('../..', import.meta.url)), process.argv[2] ?? '', isDraft));
}
