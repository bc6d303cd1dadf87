// The network on a canvas: nodes are agents, lines are links.
import {largest, shown, shownBytes} from './data.js';

// Ten colours of viridis, which people with colour-blindness see in the same order. None is grey.
const viridis = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137],
  [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];

/** The colour of a share in [0, 1]. */
export function colourOf(share) {
  const at = Math.min(Math.max(share, 0), 1) * (viridis.length - 1);
  const low = Math.min(Math.floor(at), viridis.length - 2);
  const mixed = viridis[low].map((part, k) =>
      Math.round(part + (at - low) * (viridis[low + 1][k] - part)));
  return `rgb(${mixed[0]},${mixed[1]},${mixed[2]})`;
}

export function shareOf(value, range) {
  if (!(value > 0)) return 0;
  const [low, high] = range;
  return high > low ? Math.log(value / low) / Math.log(high / low) : 1;
}

const grey = '#9aa0a8';
const mostLabels = 60, mostCircles = 500;

/** Of a file its name; no label is longer than the place between nodes. */
function shortLabel(label) {
  return label.slice(label.lastIndexOf('/', label.length - 2) + 1).slice(0, 16);
}

export class Graph {
  /** `earlier`: nodes of the same agents, which stay where they are. */
  constructor(canvas, run, tip, earlier = []) {
    this.canvas = canvas;
    this.run = run;
    this.tip = tip;
    this.picked = new Set();
    this.range = run.distanceRange();
    this.drawn = {nodes: 0, edges: 0, grey: 0};
    const samples = run.agents.map((agent) => agent.samples || 1);
    const most = largest(samples, 1);
    const crowd = Math.min(1, Math.sqrt(60 / Math.max(run.agents.length, 1)));
    this.nodes = run.agents.map((agent, i) => ({
      index: i,
      ...(earlier[i] ? {x: earlier[i].x, y: earlier[i].y} : {}),
      radius: crowd * (6 + 10 * Math.sqrt(samples[i] / most)),
    }));
    this.isCrowd = this.nodes.length > mostCircles;
    this.links = run.edges.map(([source, target]) => ({source, target}));
    const isWide = canvas.clientWidth > 1.2 * canvas.clientHeight;
    this.simulation = d3.forceSimulation(this.nodes)
        .force('charge', d3.forceManyBody().strength(-120).theta(1.1))
        .force('link', d3.forceLink(this.links).distance(60))
        .force('x', d3.forceX().strength(0.05))
        .force('y', d3.forceY().strength(isWide ? 0.08 : 0.05))
        .stop();
    if (this.nodes.length <= mostLabels)
      this.simulation.force('apart', d3.forceCollide((node) => node.radius + 12));
    if (earlier.length === this.nodes.length) this.simulation.alpha(0.05);
    canvas.setAttribute('role', 'img');
    canvas.tabIndex = 0;
    canvas.addEventListener('pointermove', (event) => this.hover(event));
    canvas.addEventListener('pointerleave', () => this.tip.hide());
    canvas.addEventListener('click', (event) => this.pick(event));
    this.settle(150);
  }

  /** Ticks of the layout for at most so many milliseconds. */
  settle(milliseconds) {
    const until = performance.now() + milliseconds;
    while (this.simulation.alpha() > 0.02 && performance.now() < until) this.simulation.tick();
    return this.simulation.alpha() > 0.02;
  }

  /** Whether nodes moved, and a picture of it is due: of a crowd ten times a second. */
  moved(now) {
    this.hasMoved = this.settle(6) || this.hasMoved;
    if (!this.hasMoved || (this.isCrowd && now - (this.movedAt ?? 0) < 100)) return false;
    this.hasMoved = false;
    this.movedAt = now;
    return true;
  }

  transform() {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const {x, y} of this.nodes) {
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
    const edge = 30, label = 14;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight - label;
    this.scale = Math.min((width - 2 * edge) / Math.max(right - left, 1),
        (height - 2 * edge) / Math.max(bottom - top, 1), 3);
    this.zoom = Math.min(Math.max(this.scale, 0.5), 1);
    this.dx = width / 2 - this.scale * (left + right) / 2;
    this.dy = height / 2 - this.scale * (top + bottom) / 2;
  }

  place(node) {
    return [this.scale * node.x + this.dx, this.scale * node.y + this.dy];
  }

  draw(round) {
    const {canvas, run} = this;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    this.frame = run.frameAt(round);
    this.transform();
    const paper = canvas.getContext('2d');
    paper.setTransform(ratio, 0, 0, ratio, 0, 0);
    paper.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    const style = getComputedStyle(document.documentElement);
    this.ink = style.getPropertyValue('--ink');
    this.back = style.getPropertyValue('--card');
    this.drawn = {nodes: 0, edges: 0, grey: 0};
    this.drawLinks(paper);
    this.drawNodes(paper);
    canvas.setAttribute('aria-label', `Network of ${this.drawn.nodes} agents and ` +
        `${this.drawn.edges} links, ${this.drawn.grey} inactive, at round ${round}`);
  }

  drawLinks(paper) {
    const {run} = this;
    const most = largest(run.bytes, 1);
    paper.strokeStyle = this.ink;
    paper.globalAlpha = this.links.length > 1000 ? 0.12 : 0.35;
    // One path for all links of a style: a stroke each takes too long where there are thousands.
    const styles = new Map();
    this.links.forEach((link, k) => {
      const width = run.bytes.length ? Math.round(1 + 6 * run.bytes[k] / most) / 2 : 1;
      const key = run.lost[k] > 0 ? -width : width;
      if (!styles.has(key)) styles.set(key, new Path2D());
      styles.get(key).moveTo(...this.place(link.source));
      styles.get(key).lineTo(...this.place(link.target));
      ++this.drawn.edges;
    });
    for (const [key, lines] of styles) {
      paper.lineWidth = Math.abs(key);
      paper.setLineDash(key < 0 ? [4, 4] : []);
      paper.stroke(lines);
    }
    paper.setLineDash([]);
    paper.globalAlpha = 1;
  }

  isActive(i) {
    const active = this.frame && this.frame.active;
    return !active || active[i] === '1' ||
        (this.frame.round === 0 && !this.run.isNetwork);
  }

  colour(i) {
    if (!this.frame) return '#5b7fa6';
    if (!this.isActive(i)) return grey;
    if (!Number.isFinite(this.frame.distance[i])) return '#5b7fa6';
    return colourOf(shareOf(this.frame.distance[i], this.range));
  }

  /** Squares in their colour: thousands of circles with outlines take too long. */
  drawSquares(paper) {
    for (const node of this.nodes) {
      const [x, y] = this.place(node);
      const half = node.radius + (this.picked.has(node.index) ? 4 : 0);
      paper.fillStyle = this.colour(node.index);
      paper.fillRect(x - half, y - half, 2 * half, 2 * half);
      ++this.drawn.nodes;
      if (!this.isActive(node.index)) ++this.drawn.grey;
    }
  }

  drawNodes(paper) {
    if (this.isCrowd) return this.drawSquares(paper);
    const {run} = this;
    const steps = largest(run.agents.map((agent) => agent.work || 1), 1);
    for (const node of this.nodes) {
      const [x, y] = this.place(node);
      const radius = this.zoom * node.radius;
      const active = this.isActive(node.index);
      paper.beginPath();
      paper.arc(x, y, radius, 0, 2 * Math.PI);
      paper.fillStyle = this.colour(node.index);
      paper.fill();
      paper.lineWidth = this.picked.has(node.index) ? 3 : 1;
      paper.strokeStyle = this.ink;
      if (!active) paper.setLineDash([2, 3]);  // told apart without colour, too
      paper.stroke();
      if (!active) paper.setLineDash([]);
      // The ring is the share of the most local steps of any agent.
      const share = (run.agents[node.index].work || 1) / steps;
      paper.beginPath();
      paper.arc(x, y, radius + 3, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * share);
      paper.lineWidth = 1.5;
      paper.stroke();
      ++this.drawn.nodes;
      if (!active) ++this.drawn.grey;
    }
    if (this.nodes.length <= mostLabels) this.drawLabels(paper);
  }

  /** After the nodes, so that none hides a label. */
  drawLabels(paper) {
    paper.textAlign = 'center';
    paper.font = '11px system-ui, "DejaVu Sans", sans-serif';
    paper.fillStyle = this.ink;
    paper.strokeStyle = this.back;
    paper.lineWidth = 3;
    for (const node of this.nodes) {
      const [x, y] = this.place(node);
      const at = [shortLabel(this.run.agents[node.index].label), x,
        y + this.zoom * node.radius + 15];
      paper.strokeText(...at);
      paper.fillText(...at);
    }
  }

  nodeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.nodes.find((node) => {
      const [nodeX, nodeY] = this.place(node);
      return Math.hypot(nodeX - x, nodeY - y) <= this.zoom * node.radius + 4;
    });
  }

  linkAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.links.findIndex((link) => {
      const [aX, aY] = this.place(link.source), [bX, bY] = this.place(link.target);
      const length = Math.hypot(bX - aX, bY - aY) || 1;
      const along = ((x - aX) * (bX - aX) + (y - aY) * (bY - aY)) / length / length;
      const off = Math.abs((x - aX) * (bY - aY) - (y - aY) * (bX - aX)) / length;
      return along > 0 && along < 1 && off < 4;
    });
  }

  textOf(i) {
    const agent = this.run.agents[i];
    const lines = [`agent ${agent.label}`];
    if (this.frame && this.frame.distance[i] !== undefined)
      lines.push(`${this.run.measure}: ${this.frame.distance[i] ?? '–'}`);
    if (agent.samples !== undefined) lines.push(`samples: ${agent.samples}`);
    lines.push(`local steps: ${agent.work ?? '–'}`);
    if (agent.phase) lines.push(`phase: ${agent.phase}`);
    if (!this.isActive(i)) lines.push(agent.phase ? 'silent' : 'inactive in this round');
    return lines.join('\n');
  }

  hover(event) {
    const node = this.nodeAt(event);
    if (node) return this.tip.show(event, this.textOf(node.index));
    const k = this.linkAt(event);
    if (k < 0) return this.tip.hide();
    const {run} = this;
    const ends = run.edges[k].map((i) => run.agents[i].label);
    this.tip.show(event, [
      `link ${ends.join(' – ')}`,
      `bytes: ${run.bytes.length ? shownBytes(run.bytes[k]) : '–'}`,
      run.isNetwork ? (run.lost[k] ? 'not connected' : 'connected') :
                      `lost messages: ${shown(run.lost[k] ?? null)}`,
    ].join('\n'));
  }

  pick(event) {
    const node = this.nodeAt(event);
    if (node && this.onpick) this.onpick(node.index);
  }
}
