// The plots under the picture: which series are shown, and the cursor they share.
import { h } from './dom';
import { Plot, type PlotSpec } from './plots';

const favourites = ['residual', 'contacts', 'energy', 'iterations', 'step time'];

export class PlotDock {
  private chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Series' });
  private strip = h('div', { class: 'plots' });
  private specs: PlotSpec[] = [];
  private chosen: string[] = [];
  private plots = new Map<string, Plot>();
  private time = NaN;

  constructor(
    parent: HTMLElement,
    private scrub?: (t: number) => void,
  ) {
    parent.append(this.strip, this.chips);
  }

  get empty(): boolean {
    return this.specs.length === 0;
  }

  setSeries(specs: PlotSpec[]): void {
    const names = (list: PlotSpec[]) => list.map((spec) => spec.name).join('\n');
    const known = names(specs) === names(this.specs);
    this.specs = specs;
    if (!known) {
      const available = specs.map((spec) => spec.name);
      this.chosen = this.chosen.filter((name) => available.includes(name));
      const wanted = window.innerWidth < 700 ? 1 : 3;
      for (const name of [...favourites, ...available])
        if (this.chosen.length < wanted && available.includes(name) && !this.chosen.includes(name))
          this.chosen.push(name);
      this.rebuild();
    } else {
      for (const spec of specs) this.plots.get(spec.name)?.update(spec);
    }
  }

  private rebuild(): void {
    for (const plot of this.plots.values()) plot.dispose();
    this.plots.clear();
    for (const spec of this.specs) {
      if (!this.chosen.includes(spec.name)) continue;
      const plot = new Plot(spec, this.scrub);
      this.plots.set(spec.name, plot);
      this.strip.append(plot.element);
    }
    this.strip.hidden = this.plots.size === 0;
    this.chips.replaceChildren(
      ...this.specs.map((spec) =>
        h(
          'button',
          {
            class: 'chip',
            'aria-pressed': String(this.chosen.includes(spec.name)),
            onclick: () => {
              const on = this.chosen.includes(spec.name);
              this.chosen = on ? this.chosen.filter((name) => name !== spec.name) : [...this.chosen, spec.name];
              this.rebuild();
            },
          },
          spec.name,
        ),
      ),
    );
    for (const plot of this.plots.values()) plot.draw();
    this.setTime(this.time);
  }

  redraw(): void {
    for (const plot of this.plots.values()) plot.draw();
  }

  setTime(t: number): void {
    this.time = t;
    if (!Number.isNaN(t)) for (const plot of this.plots.values()) plot.setCursor(t);
  }
}
