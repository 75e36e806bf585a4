// The tested servers in docs/redis.md, from docs/internals/figures/servers.json.

/** Puts the table of the tested servers between its markers, `<!-- servers -->` and `<!-- /servers -->`. */
export function fillServers(text, tested) {
  const rows = tested.map(
    ({ product, version, date, passed, failed }) =>
      `| ${product} ${version} | ${date} | ${passed.toLocaleString('en')} | ${failed.toLocaleString('en')} |`,
  );
  const table = ['| server | tested on | tests passed | failed |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return text.replace(
    /<!-- servers -->\n[^]*?<!-- \/servers -->/,
    () => `<!-- servers -->\n\n${table}\n\n<!-- /servers -->`,
  );
}
