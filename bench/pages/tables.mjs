// The tables of docs/dashboard.md, from docs/internals/figures/dashboard-pages.json.

/** Puts the tables of a run of `--pages` between their markers, `<!-- pages:NAME -->` and `<!-- /pages -->`. */
export function fillPages(text, report) {
  return text.replace(/<!-- pages:(\w+) -->\n[^]*?<!-- \/pages -->/g, (_, name) => {
    const rows = { requests: requestRows, viewers: viewerRows }[name]?.(report);
    if (!rows) throw new Error(`pages:${name}: expected requests, viewers`);
    const [head, ...others] = rows;
    const lines = [head, head.map((_each, i) => (i === 0 ? '---' : '---:')), ...others];
    return `<!-- pages:${name} -->\n\n${lines.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n<!-- /pages -->`;
  });
}

function requestRows({ requests }) {
  const levels = Object.keys(requests);
  const head = levels.map((level) => `${Number(level).toLocaleString('en')} waiting jobs`);
  const rows = Object.keys(requests[levels[0]]).map((name) => [
    name,
    ...levels.map((level) => `${requests[level][name].medianMs} ms (${requests[level][name].mostMs})`),
  ]);
  return [['request', ...head], ...rows];
}

function viewerRows({ viewers }) {
  const levels = Object.keys(viewers);
  const head = levels.map((level) => `${Number(level).toLocaleString('en')} waiting jobs`);
  const rows = Object.keys(viewers[levels[0]]).map((count) => [
    count,
    ...levels.map((level) => `${viewers[level][count].commandsPerS} (${viewers[level][count].innerPerS})`),
  ]);
  return [['viewers', ...head], ...rows];
}
