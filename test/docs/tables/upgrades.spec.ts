// The table of tested upgrades in docs/versions.md is that of test/long/faults/upgrades.spec.ts, for each packed version.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { fillUpgrades, type Upgrade } from '../../support/docs/upgrades-table.js';
import { earlierPackages } from '../../support/queue/earlier-version.js';

const page = readFileSync('docs/versions.md', 'utf8');
const upgrades = JSON.parse(readFileSync('docs/internals/figures/upgrades.json', 'utf8')) as Upgrade[];

it('docs/versions.md has the table of docs/internals/figures/upgrades.json', () => {
  expect(fillUpgrades(page, upgrades)).toBe(page);
});

it('has a row for each packed version', () => {
  expect(upgrades.map(({ commit }) => commit)).toEqual(earlierPackages().map(({ commit }) => commit));
});
