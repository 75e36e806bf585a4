// A release needs a line in the changelog for a changed API, versions that agree, and pinned workflows.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { changelogProblem } from '../../../scripts/release/check-changelog.mjs';
import { releaseNotes } from '../../../scripts/release/release-notes.mjs';
import { folderWith } from '../folder.js';

it('wants a line in the changelog for a changed report', () => {
  const root = folderWith({ 'api/core.api.md': 'class A', 'CHANGELOG.md': '# Changelog\n\n- `A`\n' });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: root });
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');
  writeFileSync(join(root, 'api/core.api.md'), 'class B');
  expect(changelogProblem(root)).toBeUndefined(); // nothing is released yet
  git('tag', 'v0.1.0');
  expect(changelogProblem(root)).toMatch(
    /^api\/core.api.md: changed since v0.1.0, but CHANGELOG.md has no new line/,
  );
  writeFileSync(join(root, 'CHANGELOG.md'), '# Changelog\n\n- `B`\n- `A`\n');
  expect(changelogProblem(root)).toBeUndefined();
  git('update-ref', 'refs/remotes/origin/main', 'v0.1.0');
  expect(changelogProblem(root, 'main')).toBeUndefined();
  git('checkout', '--quiet', '--', 'CHANGELOG.md');
  expect(changelogProblem(root, 'main')).toMatch(/has no new line/);
});

it('says nothing where there is no history', () => {
  expect(changelogProblem(folderWith({ 'api/core.api.md': 'class A' }))).toBeUndefined();
});

const released = {
  'package.json': '{ "version": "0.2.0", "repository": { "url": "git+https://example.com/us/it.git" } }',
  'package-lock.json': '{ "version": "0.2.0" }',
  'codemod/package.json': '{ "version": "0.2.0" }',
  'CHANGELOG.md': '# Changelog\n\n## 0.2.0 - 2027-01-02\n\n### Added\n\n- `A`\n\n## 0.1.0 - 2026-12-01\n\n- `B`\n',
};

it('returns the part of the changelog about a tag', () => {
  expect(releaseNotes(folderWith(released), 'v0.2.0')).toBe('### Added\n\n- `A`');
});

it('leads its links to the files of the tag, because a release has no folder', () => {
  const changed = {
    'CHANGELOG.md': '## 0.2.0 - 2027-01-02\n\n- `A` ([page](docs/a.md), [web](https://example.com))\n',
  };
  expect(releaseNotes(folderWith({ ...released, ...changed }), 'v0.2.0')).toBe(
    '- `A` ([page](https://example.com/us/it/blob/v0.2.0/docs/a.md), [web](https://example.com))',
  );
});

it('has the notes of the next release ready', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const notes = releaseNotes('.', `v${version}`, true);
  expect(notes).not.toBe('');
  expect(notes).not.toMatch(/\]\((?!https?:)/);
  expect(notes.length).toBeLessThan(125_000); // what a release may have
});

it.each([
  [{ 'codemod/package.json': '{ "version": "0.1.0" }' }, 'codemod/package.json: expected version 0.2.0 of the tag'],
  [{ 'CHANGELOG.md': '## 0.2.0 - unreleased\n' }, 'found 0.2.0 - unreleased'],
  [{ 'CHANGELOG.md': '## 0.1.0 - 2026-12-01\n' }, 'found no part'],
])('refuses a release with %j', (changed, message) => {
  expect(() => releaseNotes(folderWith({ ...released, ...changed }), 'v0.2.0')).toThrow(message);
});

interface Workflow {
  on?: object;
  permissions: Record<string, string>;
  jobs: Record<
    string,
    { permissions?: Record<string, string>; steps: { uses?: string; with?: object; run?: string }[] }
  >;
}

const folder = new URL('../../../.github/workflows/', import.meta.url);
const workflows = readdirSync(folder).map((file): [string, Workflow] => [
  file,
  parse(readFileSync(new URL(file, folder), 'utf8')) as Workflow,
]);

it.each(workflows)('%s pins its actions, and writes nothing by default', (_, { permissions, jobs }) => {
  expect(permissions).toEqual({ contents: 'read' });
  const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
  expect(used.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
});

it('publishes as a trusted publisher, without a token', () => {
  const { jobs } = workflows.find(([file]) => file === 'release.yml')![1];
  const { permissions, steps } = jobs.publish!;
  expect(permissions).toEqual({ contents: 'write', 'id-token': 'write' });
  expect(JSON.stringify(steps)).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/);
  // npm 11.5.1 is the first that can; Node 24.11 has npm 11.6.
  expect(steps).toContainEqual(
    expect.objectContaining({ with: expect.objectContaining({ 'node-version': '24.11.1' }) }),
  );
});

it('publishes the tarball that the tests packed, by a job that runs nothing else', () => {
  const { jobs } = workflows.find(([file]) => file === 'release.yml')![1];
  const { permissions, steps } = jobs.test!;
  expect(permissions).toBeUndefined(); // those of the workflow, which write nothing
  expect(steps).toContainEqual({
    run: '.ci/run',
    env: { TESTED_TARBALL_FOLDER: '${{ runner.temp }}/release/library' },
  });
  const actions = jobs.publish!.steps.map(({ uses }) => uses?.split('@')[0]);
  expect(actions.filter(Boolean)).toEqual(['actions/setup-node', 'actions/download-artifact']);
  const commands = jobs
    .publish!.steps.flatMap(({ run }) => run ?? [])
    .map((run) => run.split(' ').slice(0, 3).join(' '));
  expect(commands).toEqual(['npm publish --ignore-scripts', 'npm publish --ignore-scripts', 'gh release create']);
});

it('asks for known holes before a release, at each change and each week', () => {
  const files = ['release.yml', 'audit.yml'];
  for (const [file, { jobs }] of workflows.filter(([name]) => files.includes(name))) {
    const runs = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    expect([file, runs]).toEqual([file, expect.arrayContaining(['npm audit --omit=dev', 'npm audit signatures'])]);
  }
  const { on } = workflows.find(([file]) => file === 'audit.yml')![1];
  expect(Object.keys(on!)).toEqual(['push', 'pull_request', 'schedule']);
});
