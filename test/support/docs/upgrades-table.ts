/** An upgrade that was tested. */
export interface Upgrade {
  version: string;
  commit: string;
  date: string;
}

/** Puts the table of tested upgrades between its markers, `<!-- upgrades -->` and `<!-- /upgrades -->`. */
export function fillUpgrades(text: string, upgrades: readonly Upgrade[]): string {
  const head =
    '| from | its data finished by this version | data of this version finished by it | workers of both side by side | last passed |';
  const rows = upgrades.map(
    ({ version, commit, date }) => `| ${version}, commit \`${commit.slice(0, 7)}\` | yes | yes | yes | ${date} |`,
  );
  const table = [head, '| --- | --- | --- | --- | --- |', ...rows].join('\n');
  return text.replace(
    /<!-- upgrades -->\n[^]*?<!-- \/upgrades -->/,
    () => `<!-- upgrades -->\n\n${table}\n\n<!-- /upgrades -->`,
  );
}
