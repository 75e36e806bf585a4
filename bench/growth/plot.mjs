// Draws a line per contestant over a logarithmic axis, as SVG text without a browser.
import * as echarts from 'echarts';

/** @param options.scales 'log' or 'value' of each axis, by default of a figure that grows with a depth */
export function plot(
  title,
  axis,
  series,
  { subtext = 'µs of Redis CPU per processed job', scales = { x: 'log', y: 'value' } } = {},
) {
  const least = (scale) => (scale === 'log' ? 1 : 0);
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 760, height: 420 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, subtext, left: 'center' },
    legend: { itemGap: 36, bottom: 0 },
    grid: { left: 60, right: 40, top: 70, bottom: 80 },
    xAxis: { type: scales.x, name: axis, nameLocation: 'middle', nameGap: 28, axisLabel: { formatter: thousands } },
    yAxis: { type: scales.y, min: least(scales.y), axisLabel: { formatter: thousands } },
    series: series.map(({ name, points }) => ({
      name,
      type: 'line',
      symbolSize: 7,
      showSymbol: points.length <= 12,
      data: points.map(({ level, us }) => [level, us]),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

function thousands(value) {
  return value.toLocaleString('en');
}
