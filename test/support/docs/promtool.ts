// promtool, Prometheus's own checker: from the PATH, or unpacked from Debian's package into .cache/prometheus.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CACHED = join(process.cwd(), '.cache', 'prometheus', 'promtool');

let found: string | undefined;

/** Returns the command, which is looked for once in a test file. */
function promtool(): string {
  return (found ??= findPromtool());
}

function findPromtool(): string {
  if (spawnSync('promtool', ['--version']).status === 0) return 'promtool';
  if (existsSync(CACHED)) return CACHED;
  const dir = mkdtempSync(join(tmpdir(), 'promtool-'));
  try {
    execFileSync('apt-get', ['download', 'prometheus'], { cwd: dir, stdio: 'pipe' });
    const deb = readdirSync(dir).find((file) => file.endsWith('.deb'))!;
    execFileSync('dpkg', ['-x', deb, 'x'], { cwd: dir, stdio: 'pipe' });
  } catch (error) {
    throw new Error('promtool is not here. Install Prometheus, or put promtool on the PATH.', { cause: error });
  }
  cpSync(join(dir, 'x', 'usr', 'bin', 'promtool'), CACHED);
  return CACHED;
}

/** Returns the result of `promtool check rules` for the text of a rules file. */
export function checkRules(text: string): { status: number | null; output: string } {
  const file = join(mkdtempSync(join(tmpdir(), 'rules-')), 'rules.yml');
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync(promtool(), ['check', 'rules', file], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

/** Returns the result of `promtool check metrics` for the text of a scrape: syntax errors and broken conventions. */
export function checkMetrics(text: string): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(promtool(), ['check', 'metrics'], { encoding: 'utf8', input: text });
  return { status, output: stdout + stderr };
}

/** Returns what `promtool test rules` says of the rules of a file in this folder and of tests of them. */
export function testRules(rules: string, tests: object): { status: number | null; output: string } {
  const file = join(mkdtempSync(join(tmpdir(), 'rules-')), 'tests.json'); // JSON is YAML
  writeFileSync(file, JSON.stringify({ rule_files: [join(process.cwd(), rules)], ...tests }));
  const { status, stdout, stderr } = spawnSync(promtool(), ['test', 'rules', file], { encoding: 'utf8' });
  return { status, output: stdout + stderr };
}
