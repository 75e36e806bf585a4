// Compares the dashboard, the alert rules and the table of the docs with the instruments.
import { readFileSync } from 'node:fs';
import { describe, expect, it, jest } from '@jest/globals';
import { INSTRUMENT_LIST, type Instrument, prometheusName } from '#metrics/instruments.js';
import { checkRules } from '../../support/docs/promtool.js';
import { rowsOf } from '../table.js';

interface Dashboard {
  panels: { title: string; targets: { expr: string }[]; gridPos: { x: number; y: number; w: number; h: number } }[];
}

const rules = readFileSync('docs/monitoring/alerts.yml', 'utf8');
const dashboard = JSON.parse(readFileSync('docs/monitoring/grafana-dashboard.json', 'utf8')) as Dashboard;
const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const instruments = INSTRUMENT_LIST.map(([, instrument]) => instrument);

/** Returns the names of an instrument in a scrape: a histogram has three. */
function seriesOf(instrument: Instrument): string[] {
  const name = prometheusName(instrument);
  return instrument.kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

function namesIn(text: string): string[] {
  return [...new Set(text.match(/\bjob_queue_\w+/g))];
}

const series = instruments.flatMap(seriesOf);

// The first use may download promtool.
jest.setTimeout(120_000);

describe('alert rules', () => {
  it('are accepted by Prometheus', () => {
    expect(checkRules(rules)).toMatchObject({ status: 0 });
    expect(checkRules(rules.replace('max by', 'max bye')).status).not.toBe(0);
  });

  it('name only series that are measured', () => {
    expect(namesIn(rules).filter((name) => !series.includes(name))).toEqual([]);
  });
});

describe('the Grafana dashboard', () => {
  it('has only queries that Prometheus can parse', () => {
    const exprs = queries.map((expr) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$queue', '.*'));
    const recorded = exprs.map((expr, i) => `      - { record: 'panel_${i}', expr: ${JSON.stringify(expr)} }`);
    const text = `groups:\n  - name: panels\n    rules:\n${recorded.join('\n')}\n`;
    expect(checkRules(text)).toMatchObject({ status: 0 });
  });

  it('shows each instrument, and nothing that is not measured', () => {
    const shown = namesIn(queries.join('\n'));
    expect(shown.filter((name) => !series.includes(name))).toEqual([]);
    expect(instruments.filter((each) => !seriesOf(each).some((name) => shown.includes(name)))).toEqual([]);
  });

  it.each(['reclaimed', 'limited', 'rate_limited'])('shows the event %s of jobs', (event) => {
    const shown = queries.flatMap((expr) =>
      [...expr.matchAll(/event=~?"([^"]*)"/g)].flatMap(([, all]) => all!.split('|')),
    );
    expect(shown).toContain(event);
  });

  it('groups only by labels that the instruments have', () => {
    const labels = new Set<string>([...instruments.flatMap((each) => [...each.labels]), 'le']);
    const used = queries.flatMap((expr) =>
      [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, by]) => by!.split(', ')),
    );
    expect(used.filter((label) => !labels.has(label))).toEqual([]);
  });
});

it('the docs name each instrument with its labels', () => {
  const rows = rowsOf('instruments', 'docs/monitoring.md').slice(2);
  const told = rows.map(([name, kind, labels]) => ({ name, kind, labels }));
  const wanted = instruments.map((each) => ({
    name: `\`${prometheusName(each)}\``,
    kind: `${each.source} ${each.kind}`,
    labels: each.labels.map((label) => `\`${label}\``).join(', '),
  }));
  expect(told).toEqual(wanted);
});
