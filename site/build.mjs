// Builds the site into .cache/site: the pages by VitePress, and the API by typedoc in a process beside it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forgeImages, siteLink } from './.vitepress/links.mjs';
import { deadLinks } from './dead-links.mjs';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const WARNING = /warning|\(!\)|llmstxt » [⚠✗]/i;

/** Runs a tool. Rejects if it fails or warns, with its output. */
async function run(name, file, ...args) {
  const tool = spawn(process.execPath, [path(`node_modules/${file}`), ...args], {
    cwd: path('.'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [tool.stdout, tool.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [code] = await once(tool, 'close');
  if (code !== 0 || WARNING.test(output)) throw new Error(`${name} failed, or warned:\n${output}`);
}

/** Leads the links of the pages in Markdown as those of the pages in HTML. */
function rewriteMarkdown(folder) {
  for (const file of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith('.md'))) {
    const page = file.slice(0, -'.md'.length);
    const lead = (_, start, href) => start + forgeImages(siteLink(href, page));
    writeFileSync(join(folder, file), readFileSync(join(folder, file), 'utf8').replace(/(\]\()([^)\s]+)/g, lead));
  }
}

const started = performance.now();
rmSync(path('../.cache/site-api'), { recursive: true, force: true });
try {
  await Promise.all([
    run('vitepress', 'vitepress/bin/vitepress.js', 'build'),
    run('typedoc', 'typedoc/bin/typedoc'),
  ]);
  cpSync(path('../.cache/site-api'), path('../.cache/site/api'), { recursive: true });
  cpSync(path('../docs/monitoring'), path('../.cache/site/files'), { recursive: true });
  rewriteMarkdown(path('../.cache/site'));
  const dead = deadLinks(path('../.cache/site'), path('..'));
  if (dead.length > 0) throw new Error(`Dead links:\n${dead.join('\n')}`);
  console.log(`.cache/site: built in ${((performance.now() - started) / 1_000).toFixed(1)} s`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
