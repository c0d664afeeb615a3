// Several replays at once: their titles over the pictures, their series in one plot, their facts side by side.
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

/** Facts as a table; with several replays one column each, and rows that differ stand out. */
export function factsTable(worlds: World[]): HTMLElement {
  const names = [...new Set(worlds.flatMap((world) => world.replay.facts.map(([name]) => name)))];
  const table = h('table', { class: 'facts' });
  if (worlds.length > 1)
    table.append(
      h(
        'tr',
        {},
        h('th'),
        ...worlds.map((_, i) =>
          h('td', {}, h('span', { class: 'dot', style: `background:${curveColor(i)}` }), ` ${i + 1}`),
        ),
      ),
    );
  for (const name of names) {
    const texts = worlds.map((world) => world.replay.facts.find(([other]) => other === name)?.[1] ?? '–');
    const differs = texts.some((text) => text !== texts[0]);
    table.append(
      h(
        'tr',
        { class: differs ? 'differs' : '' },
        h('th', {}, name),
        ...texts.map((text) => h('td', {}, String(text))),
      ),
    );
  }
  return table;
}
