// Curves, tables and the forest plot.
import {axes, curves, shown, shownBytes} from './data.js';

// Okabe and Ito's colours, which people with colour-blindness tell apart.
const palette = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#8c6bb1'];

function inks() {
  const style = getComputedStyle(document.documentElement);
  return {line: style.getPropertyValue('--line'), text: style.getPropertyValue('--soft')};
}

function axisOf(label, log) {
  const {line, text} = inks();
  const axis = {stroke: text, grid: {stroke: line, width: 1}, ticks: {stroke: line}, label,
    labelSize: 20, size: 58, font: '12px system-ui, "DejaVu Sans", sans-serif',
    labelFont: '12px system-ui, "DejaVu Sans", sans-serif'};
  if (log) {  // powers of ten only: lines between them would fill the picture
    const isPower = (tick) => tick && Number.isInteger(Math.round(Math.log10(tick) * 1e6) / 1e6);
    const powers = (_, ticks) => ticks.map((tick) => isPower(tick) ? tick : null);
    axis.filter = axis.grid.filter = axis.ticks.filter = powers;
    axis.values = (_, ticks) => ticks.map((tick) => isPower(tick) ? tick.toExponential(0) : '');
  }
  return axis;
}

// Below is rounding, and uPlot takes ten seconds for a logarithmic axis from 1e-28 on.
const leastLog = 1e-20;

/** Draws series over x in a box. Each series: name, values. */
export function plot(box, x, series, options) {
  box.textContent = '';
  const log = options.log;
  const clean = series.map(({values}) =>
    values.map((value) => value === null || (log && !(value > leastLog)) ? null : value));
  const chart = new uPlot({
    width: Math.max(box.clientWidth, 280),
    height: options.height || 320,
    legend: {show: true, live: !!options.live},
    cursor: {drag: {setScale: false}},
    scales: {x: {time: false, distr: options.logX ? 3 : 1}, y: log ? {distr: 3} : {}},
    axes: [{...axisOf(options.x, options.logX), size: 44}, axisOf('', log)],
    series: [{label: options.x, value: (_, value) => shown(value)},
      ...series.map((one, k) => ({
        label: one.name, stroke: palette[k % palette.length], width: 1.6, spanGaps: true,
        dash: k >= palette.length ? [6, 3] : [], points: {show: x.length < 3},
        value: (_, value) => shown(value)}))],
    hooks: options.hooks || {},
  }, [x, ...clean], box);
  const picture = box.querySelector('canvas');
  picture.setAttribute('role', 'img');
  picture.setAttribute('aria-label',
      `Curves of ${series.map(({name}) => name).join(', ')} over ${options.x}`);
  return chart;
}

/** Which horizontal axes and curves some run has. */
export function axesOf(runs) {
  return axes.filter(({key}) => runs.some((run) => run.has(key)));
}

/** The curves of one run, with distances of picked agents; of several runs, one curve each. */
export function convergence(box, runs, axis, picked, hooks) {
  const label = axes.find(({key}) => key === axis).name;
  if (runs.length === 1) {
    const run = runs[0];
    const x = run.columns[axis] || run.rounds();
    const series = curves.filter(({key}) => run.has(key))
        .map(({key, name}) => ({name, values: run.columns[key]}));
    const rounds = run.rounds();
    for (const i of picked)
      series.push({name: `agent ${run.agents[i].label}`,
        values: rounds.map((round) => run.frames.length ? run.frameAt(round).distance[i] : null)});
    return plot(box, x, series, {x: label, log: true, hooks, height: 340});
  }
  const key = ['objective_gap', 'gap_bound', 'stationarity'].find((name) =>
    runs.every((run) => run.has(name))) || 'stationarity';
  const x = [...new Set(runs.flatMap((run) => run.columns[axis] || []))].sort((a, b) => a - b);
  const at = new Map(x.map((value, k) => [value, k]));
  const series = runs.map((run) => {
    const values = new Array(x.length).fill(null);
    (run.columns[axis] || []).forEach((value, k) => {
      values[at.get(value)] = (run.columns[key] || [])[k] ?? null;
    });
    return {name: run.name, values};
  });
  const name = curves.find((one) => one.key === key).name;
  return plot(box, x, series, {x: `${label}; vertical: ${name}`, log: true, hooks});
}

/** A table of texts. `off`: rows in grey. */
export function table(box, heads, rows, off = () => false) {
  const element = document.createElement('table');
  const head = element.createTHead().insertRow();
  for (const text of heads) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = text;
    head.append(cell);
  }
  const body = element.createTBody();
  rows.forEach((row, k) => {
    const line = body.insertRow();
    if (off(k)) line.className = 'off';
    for (const text of row) line.insertCell().textContent = String(text);
  });
  const scroll = document.createElement('div');
  scroll.className = 'scroll';
  scroll.append(element);
  box.replaceChildren(scroll);
}

export function agentTable(box, run, round) {
  const frame = run.frames.length ? run.frameAt(round) : undefined;
  const most = 500;
  const off = (k) => frame && frame.active && (frame.round > 0 || run.isNetwork) &&
      frame.active[k] === '0';
  if (run.isNetwork) {
    table(box, ['peer', 'phase', run.measure, 'round', 'links', 'local steps', 'bytes', 'refused'],
        run.agents.slice(0, most).map((agent, i) => [agent.label, off(i) ? 'silent' : agent.phase,
          frame ? shown(frame.distance[i]) : '–', shown(agent.activations), shown(agent.degree),
          shown(agent.work), shownBytes(agent.bytes), shown(agent.refused)]), off);
    return;
  }
  const rows = run.agents.slice(0, most).map((agent, i) => [agent.label,
    frame ? shown(frame.distance[i]) : '–', shown(agent.samples), shown(agent.degree),
    shown(agent.work), shown(agent.participation), off(i) ? 'inactive' : 'active']);
  table(box, ['agent', run.measure, 'samples', 'links', 'local steps', 'participation', 'state'],
      rows, off);
  if (run.agents.length > most) {
    const note = document.createElement('p');
    note.textContent = `The first ${most} of ${run.agents.length} agents.`;
    box.append(note);
  }
}

export function runTable(box, runs) {
  table(box, ['run', 'outcome', 'rounds', 'gap', 'stationarity', 'bytes', 'seconds'],
      runs.map((run) => {
        const last = (key) => (run.columns[key] || [null]).at(-1);
        const {status, rounds, seconds} = run.record.outcome || {};
        return [run.name, (status || '').replace('_', ' '), shown(rounds),
          shown(last('objective_gap')), shown(last('stationarity')),
          shownBytes(last('bytes_sent')), shown(last('simulated_seconds') ?? seconds)];
      }));
}

const make = (name, attributes, text) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** Where the parts of a forest plot are; on a phone the texts are above the intervals. */
function forestPlaces(width) {
  if (width < 560) return {left: 10, right: 10, row: 40, mark: 28, text: 15, number: width};
  const left = Math.min(200, width * 0.35);
  return {left, right: 190, row: 24, mark: 16, text: 20, number: width - 178};
}

/** Estimates with their intervals, the intercept left out where there are others. */
export function forest(box, rows) {
  const all = rows.filter((row) => rows.length === 1 || row.name !== 'Intercept').slice(0, 100);
  const bounded = (value, other) => Number.isFinite(value) ? value : other;
  const low = Math.min(0, ...all.map((row) => bounded(row.low, row.estimate)));
  const high = Math.max(0, ...all.map((row) => bounded(row.high, row.estimate)));
  const width = Math.max(box.clientWidth, 300), places = forestPlaces(width);
  const {left, right, row: step} = places;
  const x = (value) => left + (value - low) / (high - low || 1) * (width - left - right);
  const bottom = step * all.length + 6;
  const svg = make('svg', {width, height: bottom + 24, role: 'img',
    'aria-label': `Coefficients with intervals, ${all.length} rows`});
  svg.append(make('line', {class: 'zero', x1: x(0), x2: x(0), y1: 0, y2: bottom}),
      make('line', {class: 'axis', x1: x(low), x2: x(high), y1: bottom, y2: bottom}));
  for (const [value, anchor] of [[low, 'start'], [0, 'middle'], [high, 'end']])
    if (value === 0 || Math.abs(x(value) - x(0)) > 60)
      svg.append(make('text', {class: 'tick', x: x(value), y: bottom + 15, 'text-anchor':
        value === 0 && low === 0 ? 'start' : value === 0 && high === 0 ? 'end' : anchor},
      shown(value, 3)));
  all.forEach((row, k) => {
    const y = step * k + places.mark, textY = step * k + places.text;
    const name = row.class ? `${row.class}: ${row.name}` : row.name;
    svg.append(make('text', {x: 0, y: textY}, name.slice(0, 30)));
    const known = Number.isFinite(row.low) && Number.isFinite(row.high);
    if (known)
      svg.append(make('line', {class: 'mark', x1: x(row.low), x2: x(row.high), y1: y, y2: y}));
    svg.append(make('circle', {class: 'mark', cx: x(row.estimate), cy: y, r: 4}));
    const interval = known ? ` (${shown(row.low, 3)} to ${shown(row.high, 3)})` : '';
    svg.append(make('text', {x: places.number, y: textY,
      'text-anchor': places.number === width ? 'end' : 'start'},
    shown(row.estimate, 3) + interval));
  });
  box.replaceChildren(svg);
}

/**
 * Coefficients over the l1 weight; the order of weights is ascending for the chart. The intercept,
 * which has no name, is left out: its size hides the others.
 */
export function path(box, points, names) {
  const sorted = [...points].sort((a, b) => a.l1 - b.l1);
  const count = Math.min(names.length || sorted[0].coefficients.length, 30);
  const series = [];
  for (let k = 0; k < count; ++k)
    series.push({name: names[k] || `coefficient ${k}`,
      values: sorted.map((point) => point.coefficients[k])});
  plot(box, sorted.map((point) => point.l1), series, {x: 'l1 weight', logX: true, live: true});
}

export function crossValidation(box, {l1, mean, std_error: error}) {
  const order = l1.map((_, k) => k).sort((a, b) => l1[a] - l1[b]);
  const pick = (of) => order.map(of);
  plot(box, pick((k) => l1[k]), [
    {name: 'deviance left out', values: pick((k) => mean[k])},
    {name: 'one standard error below', values: pick((k) => mean[k] - error[k])},
    {name: 'one standard error above', values: pick((k) => mean[k] + error[k])},
  ], {x: 'l1 weight', logX: true, live: true});
}
