// The last seconds of a live simulation's values, for the running plots.
import { curveColor } from './compare';
import type { Series } from './format';
import type { PlotSpec } from './plots';

const kept = 10; // seconds
const usuallyLog = /residual|penetration|time/;

export class History {
  private times = new Map<string, number[]>();
  private values = new Map<string, number[]>();
  private now = 0;

  /** `known` carries units and axes where the scene names its series. */
  constructor(private known: Series[]) {}

  add(time: number, values: Record<string, number>): void {
    if (time < this.now) {
      // It was reset: what came before belongs to another run.
      this.times.clear();
      this.values.clear();
    }
    this.now = time;
    for (const [name, value] of Object.entries(values)) {
      let x = this.times.get(name);
      let y = this.values.get(name);
      if (!x || !y) {
        this.times.set(name, (x = []));
        this.values.set(name, (y = []));
      }
      if (x.length && x[x.length - 1] === time) y[y.length - 1] = value;
      else {
        x.push(time);
        y.push(value);
      }
      const old = x.findIndex((t) => t >= time - kept);
      if (old > 256) {
        // In bulk: one by one would move the arrays at every step.
        x.splice(0, old);
        y.splice(0, old);
      }
    }
  }

  specs(): PlotSpec[] {
    const range: [number, number] = [Math.max(0, this.now - kept), Math.max(kept, this.now)];
    return [...this.times.keys()].map((name) => {
      const series = this.known.find((each) => each.name === name);
      return {
        name,
        unit: series?.unit ?? '',
        log: series ? series.log : usuallyLog.test(name),
        range,
        curves: [{ x: this.times.get(name)!, y: this.values.get(name)!, color: curveColor(0), label: name }],
      };
    });
  }
}
