// A changed report in api/ needs a line in CHANGELOG.md. A pull request is compared with its target branch, any other
// commit with the last release before it. Before the first release nothing is compared.
import { execFileSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns what is wrong, or undefined. @param target the branch that a pull request is for */
export function changelogProblem(root, target) {
  const git = (...args) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const base = target ? git('merge-base', `origin/${target}`, 'HEAD').trim() : lastRelease(git);
  if (base === undefined) return undefined;
  const reports = git('diff', '--name-only', base, '--', 'api').trim().split('\n').filter(Boolean);
  if (reports.length === 0 || /^\+- /m.test(git('diff', '-U0', base, '--', 'CHANGELOG.md'))) return undefined;
  return `${reports.join(', ')}: changed since ${base}, but CHANGELOG.md has no new line; add one that begins with the name of the API`;
}

/** Returns the tag of the last release, or undefined where there is none, or no history. */
function lastRelease(git) {
  try {
    return git('describe', '--tags', '--abbrev=0', '--match', 'v*').trim();
  } catch {
    return undefined;
  }
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const problem = changelogProblem(fileURLToPath(new URL('../..', import.meta.url)), process.env.GITHUB_BASE_REF);
  if (problem !== undefined) {
    console.error(problem);
    process.exitCode = 1;
  }
}
