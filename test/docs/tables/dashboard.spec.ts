// docs/options.md names every option of the dashboard with its default, and docs/dashboard.md every action.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { DASHBOARD_ACTIONS, resolveDashboardOptions, resolveMount } from '#dashboard/dashboard-options.js';
import { rowsOf } from '../table.js';

const WITHOUT_DEFAULT = ['back', 'can', 'user', 'label'];

it('every option with its default', () => {
  const defaults = { ...resolveDashboardOptions({}), ...resolveMount({}) };
  const rows = rowsOf('dashboard options', 'docs/options.md').slice(2);
  const told = rows.map(([name, said]) => [name!.replaceAll('`', ''), said!.replaceAll('`', '')] as const);
  expect(told.map(([name]) => name).toSorted()).toEqual([...Object.keys(defaults), ...WITHOUT_DEFAULT].toSorted());
  for (const [name, said] of told.filter(([each]) => !WITHOUT_DEFAULT.includes(each))) {
    const value = (defaults as Record<string, unknown>)[name];
    const written = Array.isArray(value)
      ? 'none'
      : typeof value === 'number'
        ? value.toLocaleString('en')
        : String(value);
    expect([name, said]).toEqual([name, written]);
  }
});

it('every action', () => {
  const text = readFileSync(new URL('../../../docs/dashboard.md', import.meta.url), 'utf8');
  const [, actions] = /The actions are ([^.]+)\./.exec(text)!;
  expect([...actions!.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual([...DASHBOARD_ACTIONS]);
});
