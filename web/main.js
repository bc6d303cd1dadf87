// The page: reads the runs, and connects player, network, curves and tables.
import {agentTable, axesOf, convergence, crossValidation, forest, path, runTable} from './charts.js';
import {Run, shown} from './data.js';
import {colourOf, Graph} from './graph.js';

const byId = (id) => document.getElementById(id);

class Tip {
  show(event, text) {
    const box = byId('tip');
    box.textContent = text;
    box.hidden = false;
    box.style.left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8) + 'px';
    box.style.top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8) + 'px';
  }
  hide() {
    byId('tip').hidden = true;
  }
}

class View {
  constructor() {
    this.runs = [];
    this.graphs = [];
    this.rounds = [0];
    this.at = 0;
    this.live = false;
    this.following = true;  // of a run that goes on: the player stays at its last round
    this.playing = false;
    this.picked = new Set();
    this.drawnFrames = 0;
    this.bind();
    requestAnimationFrame((now) => this.tick(now));
  }

  /** Shows these runs instead of what was there; settings and places of nodes stay. */
  load({runs, live}) {
    const wasEnd = this.following || !this.runs.length;
    const chosen = this.run ? this.run.name : undefined;
    this.live = !!live;
    this.runs = runs.map(({name, record}) => new Run(name, record));
    this.run = this.runs.find((run) => run.name === chosen) || this.runs.at(-1);
    if (!live) this.run = this.runs.find((run) => run.name === chosen) || this.runs[0];
    if (!this.run) {
      byId('outcome').textContent = live ? 'The run has not begun yet.' : 'There is no run.';
      return;
    }
    this.picked = new Set([...this.picked].filter((i) => i < this.run.agents.length));
    this.makeGraphs();
    this.fillChoices();
    this.drawResults();
    this.refresh(wasEnd);
  }

  /** Adds the news of runs that go on. */
  update({runs, live}) {
    const wasEnd = this.at >= this.rounds.length - 1;
    this.live = !!live;
    let remake = false;
    runs.forEach(({record}, k) => {
      if (record) remake = this.runs[k].merge(record) || remake;
    });
    if (remake) this.makeGraphs();
    this.refresh(wasEnd && !this.playing);
  }

  /** After data changed. */
  refresh(toEnd) {
    this.rounds = [...new Set(this.runs.flatMap((run) => run.rounds()))].sort((a, b) => a - b);
    if (!this.rounds.length) this.rounds = [0];
    byId('slider').max = String(this.rounds.length - 1);
    // One range for all runs, so that a colour means the same in each.
    const ranges = this.graphs.map((graph) => graph.run.distanceRange());
    const range = [Math.min(...ranges.map(([low]) => low)),
      Math.max(...ranges.map(([, high]) => high))];
    for (const graph of this.graphs) graph.range = range;
    this.describe();
    this.drawLegend();
    this.fillAxes();
    this.drawCurves();
    if (this.runs.length > 1) runTable(byId('compare'), this.runs);
    this.goTo(toEnd ? this.rounds.length - 1 : this.at);
    this.following = toEnd;
  }

  describe() {
    const {record} = this.run;
    const config = record.config || {};
    byId('title').textContent = this.runs.length > 1 ?
        `Grove: ${this.runs.length} runs` :
        ['Grove', config.method, config.data].filter(Boolean).join(' · ');
    document.title = byId('title').textContent;
    const outcome = (record.outcome && record.outcome.detail) || '';
    const named = this.runs.length > 1 && outcome ? `${this.run.name}: ${outcome}` : outcome;
    byId('outcome').textContent = [named, this.live ? 'running' : ''].filter(Boolean).join(' · ');
    const sentences = [...(record.explanations || []), ...(record.notes || [])];
    if (sentences.join('\n') === this.sentences) return;
    this.sentences = sentences.join('\n');
    byId('sentences').replaceChildren(...sentences.map((text) => {
      const item = document.createElement('li');
      item.textContent = text;
      return item;
    }));
  }

  makeGraphs() {
    const tip = new Tip();
    const most = 4;
    const earlier = new Map(this.graphs.map((graph) => [graph.run.name, graph.nodes]));
    const shownRuns = this.runs.filter((run) => run.agents.length && run.edges.length);
    byId('columns').classList.toggle('many', this.runs.length > 1);
    byId('graphs').textContent = shownRuns.length ? '' : 'The record has no links.';
    this.graphs = shownRuns.slice(0, most).map((run) => {
      const figure = document.createElement('figure');
      const canvas = document.createElement('canvas');
      canvas.className = 'graph';
      figure.append(canvas);
      if (this.runs.length > 1) {
        const caption = document.createElement('figcaption');
        caption.textContent = run.name;
        figure.append(caption);
      }
      byId('graphs').append(figure);
      const graph = new Graph(canvas, run, tip, earlier.get(run.name));
      graph.onpick = (i) => this.togglePick(i);
      graph.picked = this.picked;
      return graph;
    });
  }

  drawLegend() {
    const box = byId('legend');
    box.textContent = '';
    const graph = this.graphs[0];
    if (!graph) return;
    const bar = document.createElement('canvas');
    bar.width = 120;
    bar.height = 10;
    const paper = bar.getContext('2d');
    for (let k = 0; k < 120; ++k) {
      paper.fillStyle = colourOf(k / 119);
      paper.fillRect(k, 0, 1, 10);
    }
    const add = (text) => {
      const span = document.createElement('span');
      span.textContent = text;
      box.append(span);
    };
    if (graph.run.frames.length) {
      add(`${graph.run.measure}: ${shown(graph.range[0], 2)}`);
      box.append(bar);
      add(shown(graph.range[1], 2));
      add(graph.run.isNetwork ? 'grey: silent' : 'grey: inactive');
    }
    if (!graph.run.isNetwork) add('size: samples');
    if (!graph.isCrowd) add('ring: local steps');
    if (graph.run.bytes.length) add(`line width: bytes; dashed: ${graph.run.dashed}`);
  }

  fillChoices() {
    const option = (value, text) => new Option(text, value);
    const labels = this.run.agents.slice(0, 2000);
    byId('agentPick').replaceChildren(
        option('', 'none'), ...labels.map((agent, i) => option(String(i), agent.label)));
    byId('runLabel').hidden = this.runs.length < 2;
    byId('run').replaceChildren(...this.runs.map((run, k) => option(String(k), run.name)));
    byId('run').value = String(this.runs.indexOf(this.run));
  }

  fillAxes() {
    const axes = axesOf(this.runs);
    const keys = axes.map(({key}) => key).join();
    if (keys === this.axisKeys) return;
    this.axisKeys = keys;
    const chosen = byId('axis').value;
    byId('axis').replaceChildren(...axes.map(({key, name}) => new Option(name, key)));
    if (axes.some(({key}) => key === chosen)) byId('axis').value = chosen;
  }

  bind() {
    byId('play').onclick = () => this.toggle();
    byId('back').onclick = () => this.step(-1);
    byId('forward').onclick = () => this.step(1);
    byId('slider').oninput = () => {
      this.goTo(Number(byId('slider').value));
      this.following = this.at >= this.rounds.length - 1;
    };
    byId('axis').onchange = () => this.drawCurves();
    byId('agentPick').onchange = () => {
      const value = byId('agentPick').value;
      this.picked = new Set(value === '' ? [] : [Number(value)]);
      this.showPicked();
    };
    byId('run').onchange = () => {
      this.run = this.runs[Number(byId('run').value)];
      this.describe();
      this.drawResults();
      this.goTo(this.at);
    };
    addEventListener('keydown', (event) => this.key(event));
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth !== width) this.redraw();
      width = innerWidth;
      this.stale = true;
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.redraw();
      this.stale = true;
    });
  }

  /** After the width or the colours of the page changed. */
  redraw() {
    if (!this.run) return;
    this.drawCurves();
    this.drawResults();
  }

  key(event) {
    const {tagName} = event.target;
    if (tagName === 'SELECT' || tagName === 'INPUT') return;  // they have keys of their own
    if (tagName === 'BUTTON' && event.key === ' ') return;
    const actions = {' ': () => this.toggle(), ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1), Home: () => this.goTo(0),
      End: () => this.goTo(this.rounds.length - 1)};
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  togglePick(i) {
    if (!this.picked.delete(i)) this.picked.add(i);
    this.showPicked();
  }

  showPicked() {
    for (const graph of this.graphs) graph.picked = this.picked;
    this.stale = true;
    this.drawCurves();
  }

  toggle() {
    if (!this.playing && this.at >= this.rounds.length - 1) this.goTo(0);
    this.playing = !this.playing;
    byId('play').textContent = this.playing ? 'Pause' : 'Play';
  }

  step(by) {
    if (this.playing) this.toggle();
    this.goTo(this.at + by);
    this.following = this.at >= this.rounds.length - 1;
  }

  goTo(at) {
    this.at = Math.min(Math.max(at, 0), this.rounds.length - 1);
    this.stale = this.staleTable = true;
    const round = this.rounds[this.at];
    byId('slider').value = String(this.at);
    byId('slider').setAttribute('aria-valuetext', `round ${round}`);
    byId('round').textContent = `round ${round} of ${this.rounds[this.rounds.length - 1]}`;
  }

  tick(now) {
    this.frame(now);
    requestAnimationFrame((next) => this.tick(next));
  }

  /** Once a frame of the screen. */
  frame(now) {
    if (this.playing) {
      const each = 1000 / Number(byId('speed').value);
      const steps = Math.floor((now - (this.playedAt ?? now)) / each);
      if (this.playedAt === undefined) this.playedAt = now;
      if (steps > 0) {
        this.playedAt += steps * each;
        this.goTo(this.at + steps);
        if (this.at >= this.rounds.length - 1) this.toggle();
      }
    } else {
      this.playedAt = undefined;
    }
    for (const graph of this.graphs) this.stale = graph.moved(now) || this.stale;
    if (this.stale && this.run) {
      this.stale = false;
      for (const graph of this.graphs) graph.draw(this.rounds[this.at]);
    }
    // Four times a second at most: to lay out a long table takes longer than a frame.
    if (this.staleTable && this.run && now - (this.tableAt ?? -Infinity) > 250) {
      this.staleTable = false;
      this.tableAt = now;
      agentTable(byId('table'), this.run, this.rounds[this.at]);
      this.markRound();
    }
    ++this.drawnFrames;
  }

  drawCurves() {
    const axis = byId('axis').value;
    if (!axis || !this.runs.length) return;
    const hooks = {setCursor: [(chart) => this.showValues(chart)]};
    this.chart = convergence(byId('chart'), this.runs, axis, this.picked, hooks);
    this.markRound();
  }

  /** The values under the pointer, or those of the player's round. */
  showValues(chart) {
    const k = chart.cursor.idx;
    if (k === null || k === undefined) return;
    const parts = chart.series.map((series, s) => {
      const value = chart.data[s][k];
      return value === null || value === undefined ? '' : `${series.label} ${shown(value)}`;
    });
    byId('values').textContent = parts.filter(Boolean).join(' · ');
  }

  markRound() {
    if (!this.chart || this.runs.length > 1) return;
    const k = this.run.rounds().indexOf(this.rounds[this.at]);
    if (k < 0) return;
    this.chart.setCursor({left: this.chart.valToPos(this.chart.data[0][k], 'x'), top: -10});
  }

  drawResults() {
    byId('compareSection').hidden = this.runs.length < 2;
    if (this.runs.length > 1) runTable(byId('compare'), this.runs);
    const {record} = this.run;
    const rows = record.table || [];
    byId('forestSection').hidden = !rows.length;
    if (rows.length) forest(byId('forest'), rows);
    const choice = record.selection || {};
    byId('pathSection').hidden = !choice.path;
    if (choice.path) path(byId('path'), choice.path, record.coefficient_names || []);
    byId('cvSection').hidden = !choice.cross_validation;
    if (choice.cross_validation) crossValidation(byId('cv'), choice.cross_validation);
  }
}

const view = new View();

/** Shows the runs, and follows them if they go on. */
function begin(payload) {
  view.load(payload);
  view.frame(performance.now());
  window.groveView = view;  // for tests
  if (!payload.live) return;
  const events = new EventSource('events');
  const heard = (take) => (event) => {
    take.call(view, JSON.parse(event.data));
    if (!view.live) events.close();
  };
  events.addEventListener('runs', heard(view.load));
  events.addEventListener('update', heard(view.update));
  events.onerror = () => {
    if (view.live) byId('outcome').textContent = 'The program does not answer; trying again.';
  };
}

const embedded = byId('data');
if (embedded) begin(JSON.parse(embedded.textContent));
else fetch('runs.json').then((answer) => answer.json()).then(begin);
