// A record as columns of numbers: what the other modules draw.

/** Text of a number for people. */
export function shown(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 1) : value.toPrecision(digits);
}

export function shownBytes(value) {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    ++unit;
  }
  return (unit ? value.toPrecision(3) : String(value)) + ' ' + units[unit];
}

/** The curves of a trace: key, name, and whether the axis is a horizontal one. */
export const curves = [
  {key: 'objective_gap', name: 'gap'},
  {key: 'gap_bound', name: 'certificate'},
  {key: 'relative_error', name: 'relative error'},
  {key: 'consensus_error', name: 'consensus'},
  {key: 'stationarity', name: 'stationarity'},
  {key: 'residual', name: 'largest residual'},
];
export const axes = [
  {key: 'round', name: 'rounds'},
  {key: 'bytes_sent', name: 'bytes'},
  {key: 'simulated_seconds', name: 'simulated seconds'},
  {key: 'seconds', name: 'seconds'},
];

const mostRows = 20000;
const mostNumbers = 400000;  // of all frames

/** Every second entry, and the last. */
function thinned(list) {
  return list.filter((_, k) => k % 2 === 0 || k + 1 === list.length);
}

/** The largest value, which may be of very many. */
export function largest(values, least) {
  return values.reduce((most, value) => Math.max(most, value), least);
}

/** One run: agents, links, rows of the trace and frames of the agents. */
export class Run {
  constructor(name, record) {
    this.name = name;
    this.record = {};
    this.agents = [];
    this.edges = [];
    this.bytes = [];
    this.lost = [];
    this.columns = {};
    this.count = 0;
    this.frames = [];
    this.measure = 'distance from the mean';
    this.dashed = 'messages were lost';
    this.merge(record);
  }

  /** Adds what a record, or the news of a run that goes on, has. True: agents or links changed. */
  merge(record) {
    const before = `${this.agents.length} ${this.edges.length}`;
    const trace = record.agent_trace || {};
    this.record = {...this.record, ...record};
    if (trace.edges) this.edges = trace.edges;
    if (trace.from_optimum) this.measure = 'distance from the optimum';
    if (trace.measure) this.measure = trace.measure;
    if (trace.dashed) this.dashed = trace.dashed;
    this.isNetwork = this.isNetwork || !!trace.dashed;
    if (trace.bytes) this.bytes = trace.bytes;
    if (trace.lost) this.lost = trace.lost;
    if (record.agents) {
      const sites = record.sites || [];
      this.agents = record.agents.map((agent, i) => {
        const site = sites.length === record.agents.length ? sites[i].name : undefined;
        return {...agent, label: String(agent.name ?? site ?? i)};
      });
    }
    for (const row of record.trace || []) this.addRow(row);
    for (const frame of trace.frames || []) this.addFrame(frame);
    return before !== `${this.agents.length} ${this.edges.length}`;
  }

  addRow(row) {
    if (this.count > mostRows) {
      for (const key of Object.keys(this.columns)) this.columns[key] = thinned(this.columns[key]);
      this.count = this.rounds().length;
    }
    for (const {key} of [...curves, ...axes]) {
      const value = row[key];
      if (value === undefined && !this.columns[key]) continue;
      if (!this.columns[key]) this.columns[key] = new Array(this.count).fill(null);
      this.columns[key].push(typeof value === 'number' ? value : null);
    }
    ++this.count;
  }

  addFrame(frame) {
    const last = this.frames[this.frames.length - 1];
    if (last && last.round >= frame.round) this.frames.pop();
    this.frames.push(frame);
    if (this.frames.length > 4 && this.frames.length * frame.distance.length > mostNumbers)
      this.frames = thinned(this.frames);
  }

  has(key) {
    return (this.columns[key] || []).some((value) => value !== null);
  }

  rounds() {
    return this.columns.round || [];
  }

  /** The last frame at or before a round. */
  frameAt(round) {
    let low = 0, high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames[middle].round <= round) low = middle;
      else high = middle - 1;
    }
    return this.frames[low];
  }

  /** The smallest positive and the largest distance of all frames. */
  distanceRange() {
    let low = Infinity, high = 0;
    for (const frame of this.frames)
      for (const value of frame.distance)
        if (value > 0) {
          low = Math.min(low, value);
          high = Math.max(high, value);
        }
    return high > 0 ? [Math.max(low, high * 1e-12), high] : [1e-6, 1];
  }
}
