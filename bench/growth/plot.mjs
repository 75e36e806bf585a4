// One line per contestant over a logarithmic axis, drawn to SVG text without a browser.
import * as echarts from 'echarts';

export function plot(title, axis, series) {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: 760, height: 420 });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    title: { text: title, subtext: 'µs of Redis CPU per processed job', left: 'center' },
    legend: { itemGap: 36, bottom: 0 },
    grid: { left: 60, right: 40, top: 70, bottom: 80 },
    xAxis: { type: 'log', name: axis, nameLocation: 'middle', nameGap: 28, axisLabel: { formatter: thousands } },
    yAxis: { type: 'value', min: 0 },
    series: series.map(({ name, points }) => ({
      name,
      type: 'line',
      symbolSize: 7,
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
