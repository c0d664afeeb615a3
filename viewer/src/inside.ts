// The panel "inside a step": contacts by residual, the solvers' traces, and the step's problem to take along.
import { modeColors, modeNames } from './contacts';
import { cut, h, save, short } from './dom';
import type { Inside, InsideContact } from './format';
import { icon } from './icons';
import { Plot, type PlotSpec } from './plots';
import { curveColor } from './compare';
import type { World } from './world';

const rowsShown = 200;
const shareMeans = "The contact's share of the step's residual: the root of the sum of their squares is the residual";

interface Row {
  names: string;
  mode: number;
  force: number;
  gap: number | null;
  residual: number;
  index: number; // of the frame's contact, or -1
}

export interface InsideActions {
  seek: (t: number) => void;
  close: () => void;
  highlight: (world: World, contact: number) => void;
  /** Live only: fetches the record of the present step. */
  fetchRecord?: () => Promise<Inside>;
  /** Live only: the problem of a step whose record was fetched. */
  fetchProblem?: (step: number) => Promise<Uint8Array>;
}

export class InsidePanel {
  private active = 0;
  private shown = '';
  private builtFor: World | null = null;
  private lastFill = 0;
  private later = 0;
  private plots: Plot[] = [];
  private record: Inside | null = null; // live
  private wanted = -1; // the step last jumped to, where a frame covers several records
  private heading = h('h2');
  private when = h('div', { class: 'soft' });
  private chips: { record: Inside; chip: HTMLElement }[] = [];
  private body = h('div');
  private failure = h('div', { class: 'failure', role: 'alert' });

  constructor(
    private parent: HTMLElement,
    private worlds: () => World[],
    private actions: InsideActions,
  ) {}

  /** Called when the panel opens or the moment changes; does nothing when nothing changed. */
  update(force = false): void {
    const worlds = this.worlds();
    const world = worlds[Math.min(this.active, worlds.length - 1)];
    if (!world) return;
    if (world !== this.builtFor) this.build(worlds, world);
    const live = !!this.actions.fetchRecord;
    const record = live ? this.record : this.recordOf(world);
    const key = `${record?.step} ${live && record ? '' : world.step}`;
    if (key === this.shown && !force) return;
    // While it plays a few times a second are enough to read, and leave the time to the picture.
    window.clearTimeout(this.later);
    const wait = this.lastFill + 200 - performance.now();
    if (wait > 0 && !force) {
      this.later = window.setTimeout(() => this.update(), wait);
      return;
    }
    this.lastFill = performance.now();
    this.shown = key;
    this.heading.textContent = `Inside step ${record?.step ?? world.step}`;
    this.when.textContent = record && record.step !== world.step ? '' : `t = ${world.time.toFixed(4)} s`;
    for (const { record: each, chip } of this.chips) chip.setAttribute('aria-pressed', String(each === record));
    for (const plot of this.plots) plot.dispose();
    this.plots = [];
    const top = this.parent.scrollTop;
    this.body.replaceChildren(...(record ? this.traces(record) : this.whyNone(world)), ...this.table(world, record));
    this.parent.scrollTop = top;
  }

  /** What stays while the moment changes: a button that is made anew cannot be clicked. */
  private build(worlds: World[], world: World): void {
    this.builtFor = world;
    this.shown = '';
    this.record = null;
    const close = h('button', {
      class: 'icon',
      'aria-label': 'Close',
      html: icon('close'),
      onclick: this.actions.close,
    });
    this.parent.replaceChildren(
      h('div', { class: 'card-head' }, h('div', {}, this.heading, this.when), close),
      ...(worlds.length > 1 ? [this.tabs(worlds)] : []),
      this.actions.fetchRecord ? this.liveButtons() : this.records(world),
      this.body,
    );
  }

  /** Frames may be several steps apart; a record belongs to the first frame that is not before it. */
  private recordOf(world: World): Inside | null {
    const { inside, step } = world.replay;
    const before = world.frame > 0 ? step[world.frame - 1] : -1;
    const here = inside.filter((each) => each.step > before && each.step <= world.step);
    return here.find((each) => each.step === this.wanted) ?? here.at(-1) ?? null;
  }

  /** Another replay or a click elsewhere made a different world the one of interest. */
  choose(world: number): void {
    if (world === this.active) return;
    this.active = world;
    this.builtFor = null;
    this.update(true);
  }

  private tabs(worlds: World[]): HTMLElement {
    return h(
      'div',
      { class: 'segments' },
      ...worlds.map((world, i) =>
        h(
          'button',
          {
            'aria-pressed': String(i === this.active),
            title: world.replay.title,
            onclick: () => this.choose(i),
          },
          cut(world.replay.title, Math.max(8, Math.floor(44 / worlds.length))),
        ),
      ),
    );
  }

  private liveButtons(): HTMLElement {
    const texts = ['Look into the present step', 'Back to the running steps'];
    const look = h('button', { class: 'text' }, texts[0]);
    look.addEventListener('click', async () => {
      look.disabled = true;
      this.failure.textContent = '';
      try {
        this.record = this.record ? null : await this.actions.fetchRecord!();
      } catch (error) {
        this.record = null;
        this.failure.textContent = (error as Error).message;
      }
      look.disabled = false;
      look.textContent = texts[this.record ? 1 : 0];
      this.update(true);
    });
    return h('div', {}, h('div', { class: 'row start' }, look), this.failure);
  }

  private async saveProblem(record: Inside): Promise<void> {
    const name = record.file ?? `step${record.step}.npz`;
    this.failure.textContent = '';
    try {
      const data = record.data ?? (await this.actions.fetchProblem!(record.step));
      save(name, new Blob([data as Uint8Array<ArrayBuffer>], { type: 'application/octet-stream' }));
    } catch (error) {
      this.failure.textContent = (error as Error).message;
    }
  }

  private traces(record: Inside): HTMLElement[] {
    const out: HTMLElement[] = [];
    const traces = record.traces ?? [];
    if (record.data || this.actions.fetchProblem) {
      const size = record.data ? `, ${Math.max(1, Math.round(record.data.length / 1024))} kB` : '';
      out.push(
        h(
          'div',
          { class: 'row start' },
          h('button', { class: 'text save-problem', onclick: () => this.saveProblem(record) }, 'Save problem'),
          h('span', { class: 'soft' }, `${record.file ?? ''}${size}`),
        ),
      );
    }
    if (!traces.length) return out;
    out.push(h('h3', {}, 'Residual of the solvers'));
    out.push(
      h(
        'div',
        { class: 'keys' },
        ...traces.map((trace, i) =>
          h(
            'span',
            { class: 'key' },
            h('span', { class: 'dot', style: `background:${curveColor(i)}` }),
            trace.solver,
            h('span', { class: 'soft' }, ` ${trace.status}`),
          ),
        ),
      ),
    );
    const spec = (name: string, x: 'iterations' | 'time_ms', xLabel: string): PlotSpec => ({
      name,
      unit: '',
      log: true,
      xLabel,
      curves: traces.map((trace, i) => ({
        x: trace[x] ?? [],
        y: trace.residual ?? [],
        color: curveColor(i),
        label: trace.solver,
      })),
    });
    for (const each of [spec('over iterations', 'iterations', ''), spec('over time', 'time_ms', 'ms')]) {
      const plot = new Plot(each);
      this.plots.push(plot);
      out.push(plot.element);
    }
    return out;
  }

  /** In words, why this step has no curves and no problem to save. */
  private whyNone(world: World): HTMLElement[] {
    if (this.actions.fetchRecord) return [];
    const text = world.untold
      ? 'Another engine made these steps, and tells nothing of its solver.'
      : world.replay.inside.length
        ? 'This step was not kept whole: a replay keeps the hardest steps and those named by --inside, listed above.'
        : 'No step of this replay was kept whole; almond run --inside STEP keeps one.';
    return [h('p', { class: 'soft' }, text)];
  }

  private rows(world: World, record: Inside | null): Row[] {
    const { contacts } = world;
    if (record?.contacts?.length) return record.contacts.map((each) => recordRow(each, world));
    return Array.from({ length: contacts.count }, (_, i) => {
      const f = contacts.force.subarray(3 * i, 3 * i + 3);
      const n = contacts.normal.subarray(3 * i, 3 * i + 3);
      return {
        names: world.pairName(i),
        mode: contacts.mode[i],
        force: f[0] * n[0] + f[1] * n[1] + f[2] * n[2],
        gap: null,
        residual: contacts.residual[i],
        index: i,
      };
    });
  }

  private table(world: World, record: Inside | null): HTMLElement[] {
    const rows = this.rows(world, record);
    const told = rows.some((row) => !Number.isNaN(row.residual));
    rows.sort(told ? (a, b) => b.residual - a.residual : (a, b) => b.force - a.force);
    const title = h(
      'h3',
      {},
      rows.length === 1 ? '1 contact' : `${rows.length} contacts`,
      rows.length ? (told ? ', largest share of the residual first' : ', strongest first') : '',
    );
    if (!rows.length) return [title];
    const gaps = rows.some((row) => row.gap !== null);
    const head = h(
      'tr',
      {},
      h('th', {}, 'between'),
      h('th', {}, 'mode'),
      h('th', { class: 'number' }, 'force [N]'),
      gaps ? h('th', { class: 'number' }, 'gap [mm]') : null,
      told ? h('th', { class: 'number', title: shareMeans }, 'share [N s]') : null,
    );
    const body = rows.slice(0, rowsShown).map((row) =>
      h(
        'tr',
        {
          onpointerenter: () => this.actions.highlight(world, row.index),
          onpointerleave: () => this.actions.highlight(world, -1),
        },
        h(
          'td',
          { class: 'names', title: row.names },
          row.names
            .split(' | ')
            .map((name) => cut(name, 13))
            .join(' | '),
        ),
        h(
          'td',
          { class: 'mode' },
          h('span', { class: 'dot', style: `background:${modeColors[row.mode] ?? ''}` }),
          modeNames[row.mode] ?? '–',
        ),
        h('td', { class: 'number' }, short(row.force)),
        gaps ? h('td', { class: 'number' }, short(row.gap)) : null,
        told ? h('td', { class: 'number' }, short(row.residual)) : null,
      ),
    );
    const out: HTMLElement[] = [title, h('table', { class: 'contact-table' }, head, ...body)];
    if (rows.length > rowsShown)
      out.push(
        h('div', { class: 'soft' }, `and ${rows.length - rowsShown} with smaller ${told ? 'shares' : 'forces'}`),
      );
    return out;
  }

  private records(world: World): HTMLElement {
    const { inside, step, time } = world.replay;
    const jump = (record: Inside) => {
      const frame = step.findIndex((each) => each >= record.step);
      if (frame < 0) return;
      this.wanted = record.step;
      this.actions.seek(time[frame]);
      this.update(true);
    };
    this.chips = inside.map((record) => ({
      record,
      chip: h('button', { class: 'chip', onclick: () => jump(record) }, String(record.step)),
    }));
    if (!inside.length) return h('div');
    const chips = this.chips.map((each) => each.chip);
    return h('div', {}, h('h3', {}, 'Steps with a record'), h('div', { class: 'chips wrap' }, ...chips));
  }
}

function recordRow(each: InsideContact, world: World): Row {
  const mode = typeof each.mode === 'number' ? each.mode : modeNames.indexOf(each.mode);
  // The record has names only; the contact of the frame that fits best is the one to point at.
  let index = -1;
  let best = Infinity;
  for (let i = 0; i < world.contacts.count; ++i) {
    if (world.contacts.geoms && world.pairName(i) !== each.names) continue;
    const difference = Math.abs(world.contacts.residual[i] - each.residual);
    if (difference < best) {
      best = difference;
      index = i;
    }
  }
  return {
    names: each.names,
    mode,
    force: each.normal_force,
    gap: each.gap_mm ?? null,
    residual: each.residual,
    index,
  };
}
