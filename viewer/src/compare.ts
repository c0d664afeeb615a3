// Several replays at once: their titles over the pictures, their series in one plot, their facts side by side.
import { residualRange } from './contacts';
import { h } from './dom';
import type { PlotSpec } from './plots';
import type { Stage } from './stage';
import type { World } from './world';

/** Blue, orange, and further colours that stay apart for every kind of colour vision. */
const curveColors = ['#3b82c4', '#e07b00', '#2a9d76', '#b0589c', '#8a929c', '#b8a000'];

export function curveColor(i: number): string {
  return curveColors[i % curveColors.length];
}

/** One plot per name of a series, with a curve for each replay that has it. */
export function seriesSpecs(worlds: World[], range: [number, number]): PlotSpec[] {
  const specs = new Map<string, PlotSpec>();
  worlds.forEach(({ replay }, i) => {
    for (const series of replay.series) {
      let spec = specs.get(series.name);
      if (!spec)
        specs.set(series.name, (spec = { name: series.name, unit: series.unit, log: series.log, curves: [], range }));
      spec.curves.push({ x: series.time, y: series.values, color: curveColor(i), label: replay.title });
    }
  });
  return [...specs.values()];
}

/** One colour for one residual and one length for one force, whichever picture they are in. */
export function shareScales(worlds: World[]): void {
  const range = residualRange(worlds.flatMap(({ replay }) => (replay.contacts ? [replay.contacts.residual] : [])));
  const reference = Math.max(...worlds.map((world) => world.clip.typicalForce())) || 1;
  for (const { marks } of worlds) {
    marks.range = range ?? marks.range;
    marks.reference = reference;
  }
}

/** Titles at the upper left of each view, in the colour of its curves. */
export class ViewLabels {
  private labels: HTMLElement[];

  constructor(
    parent: HTMLElement,
    private stage: Stage,
    worlds: World[],
  ) {
    this.labels = worlds.map((world, i) =>
      h(
        'div',
        { class: 'view-label' },
        h('span', { class: 'dot', style: `background:${curveColor(i)}` }),
        h('span', {}, world.replay.title),
      ),
    );
    parent.append(...this.labels);
    this.place();
  }

  place(): void {
    this.labels.forEach((label, i) => {
      const { x, y, width, height } = this.stage.rect(i);
      label.style.transform = `translate(${x}px, ${y}px)`;
      label.style.width = `${width}px`;
      label.style.setProperty('--height', `${height}px`);
      label.classList.toggle('not-first', x > 1);
      label.classList.toggle('not-top', y > 1);
    });
  }
}

const unitAtEnd = /_(mm|um|m|s|ms|rad|deg|kg)(_per_(s|m))?$/;

/** A figure's name in words, and the unit that it ends with: `slip_rate_mm_per_s` is a slip rate in mm/s. */
export function inWords(name: string): { label: string; unit: string } {
  const found = /^[a-z0-9_]+$/.test(name) ? unitAtEnd.exec(name) : null;
  const unit = found ? found[1].replace('um', 'µm') + (found[3] ? `/${found[3]}` : '') : '';
  return { label: (found ? name.slice(0, found.index) : name).replaceAll('_', ' '), unit };
}

/** Facts as a table. Of several replays, texts that differ stand below each other in the colours of their curves. */
export function factsTable(worlds: World[]): HTMLElement {
  const names = [...new Set(worlds.flatMap((world) => world.replay.facts.map(([name]) => name)))];
  const table = h('table', { class: 'facts' });
  for (const name of names) {
    const texts = worlds.map(({ replay }) => replay.facts.filter(([other]) => other === name).map(([, text]) => text));
    const { label, unit } = inWords(name);
    const lines = texts.map((each) => each.map((text) => (unit ? `${text} ${unit}` : text)).join('; ') || '–');
    const differ = lines.some((line) => line !== lines[0]);
    const dot = (i: number) => h('span', { class: 'dot', style: `background:${curveColor(i)}` });
    const cells = differ ? lines.map((line, i) => h('div', { class: 'of-run' }, dot(i), h('span', {}, line))) : [];
    table.append(
      h(
        'tr',
        { class: differ ? 'differs' : '' },
        h('th', {}, label),
        differ ? h('td', {}, ...cells) : h('td', {}, lines[0]),
      ),
    );
  }
  return table;
}
