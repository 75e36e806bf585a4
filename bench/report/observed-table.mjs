// node bench/report/observed-table.mjs: writes the table of observability costs into docs/performance.md. Reads the
// JSON of `npm run bench -- --observed --json docs/internals/figures/benchmark-observed.json`.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Puts the table of a run between its markers. */
export function fillObserved(text, report) {
  return text.replace(
    /<!-- observed -->\n[^]*?<!-- \/observed -->/,
    () => `<!-- observed -->\n\n${tableOf(report)}\n\n<!-- /observed -->`,
  );
}

function tableOf({ watched, figures }) {
  const ways = Object.keys(watched);
  const head = ['', 'unit', 'bare', ...ways];
  const rows = figures.map(({ text, unit, better, bare, ratios }) => [
    text,
    `${unit} ${better === 'more' ? '↑' : '↓'}`,
    bare >= 1_000 ? Math.round(bare).toLocaleString('en') : String(Number(bare.toPrecision(3))),
    ...ways.map((way) => (ratios[way] === undefined ? '–' : `${ratios[way].toFixed(2)}×`)),
  ]);
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`);
  const meaning = Object.entries(watched).map(([way, how]) => `- **${way}**: ${how}`);
  return [...lines, '', ...meaning].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const at = (path) => fileURLToPath(new URL(`../../docs/${path}`, import.meta.url));
  const report = JSON.parse(readFileSync(at('internals/figures/benchmark-observed.json'), 'utf8'));
  writeFileSync(at('performance.md'), fillObserved(readFileSync(at('performance.md'), 'utf8'), report));
}
