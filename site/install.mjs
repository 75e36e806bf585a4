// Installs what makes the site, where it is not there yet. It never enters the library's own dependencies.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
if (!existsSync(new URL('./node_modules/.package-lock.json', import.meta.url))) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] });
}
