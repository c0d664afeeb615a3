// One plot on a canvas: a few curves over a common axis, a cursor, and values there. Used for series and solver traces.
import { h, power, short } from './dom';
import { lowerBound } from './search';

export interface Curve {
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  color: string;
  label: string;
}

export interface PlotSpec {
  name: string;
  unit: string;
  log: boolean;
  curves: Curve[];
  xLabel?: string;
  /** Begin and end of the x axis; taken from the curves where absent. */
  range?: [number, number];
}

interface Axis {
  low: number;
  high: number;
  log: boolean;
  zero: boolean; // logarithmic, with a place for 0 at the bottom
}

const margin = { right: 10, top: 6, bottom: 18 };
const leastLeft = 52; // so that plots below each other begin at the same place
const gap = 6; // between labels and axis

export class Plot {
  readonly element: HTMLElement;
  private canvas = h('canvas');
  private cursor = h('div', { class: 'plot-cursor' });
  private values = h('span', { class: 'plot-value' });
  private box: HTMLElement;
  private range: [number, number] = [0, 1];
  private at = NaN;
  private sized = [0, 0];
  private left = leastLeft; // of the axis [CSS pixels], where the labels have room
  private onSize: ResizeObserver;

  /** `scrub` gets the x under the pointer while it is dragged. */
  constructor(
    private spec: PlotSpec,
    scrub?: (x: number) => void,
  ) {
    this.box = h('div', { class: 'plot-box' }, this.canvas, this.cursor);
    const head = h('div', { class: 'plot-head' }, h('span', { class: 'plot-name' }, spec.name), this.values);
    this.element = h('div', { class: 'plot' }, head, this.box);
    this.cursor.hidden = true;
    if (scrub) {
      this.box.classList.add('scrub');
      const move = (event: PointerEvent) => {
        const place = this.box.getBoundingClientRect();
        const s = (event.clientX - place.left - this.left) / (place.width - this.left - margin.right);
        scrub(this.range[0] + Math.min(1, Math.max(0, s)) * (this.range[1] - this.range[0]));
      };
      this.box.addEventListener('pointerdown', (event) => {
        this.box.setPointerCapture(event.pointerId);
        move(event);
      });
      this.box.addEventListener('pointermove', (event) => {
        if (event.buttons) move(event);
      });
    }
    this.onSize = new ResizeObserver(() => this.draw());
    this.onSize.observe(this.box);
  }

  update(spec: PlotSpec): void {
    this.spec = spec;
    this.draw();
  }

  /** Puts the cursor at x and shows the values there. */
  setCursor(x: number): void {
    this.at = x;
    const inside = x >= this.range[0] && x <= this.range[1];
    this.cursor.hidden = !inside;
    const width = this.sized[0] - this.left - margin.right;
    const s = (x - this.range[0]) / (this.range[1] - this.range[0] || 1);
    if (inside) this.cursor.style.transform = `translateX(${(this.left + s * width).toFixed(1)}px)`;
    this.values.replaceChildren(
      ...this.spec.curves.map((curve) => {
        const value = valueAt(curve, x);
        const text = `${short(value)}${this.spec.unit && value !== undefined ? ` ${this.spec.unit}` : ''}`;
        return h('span', this.spec.curves.length > 1 ? { style: `color:${curve.color}` } : {}, text);
      }),
    );
  }

  draw(): void {
    const width = this.box.clientWidth;
    const height = this.box.clientHeight;
    if (width < 40 || height < 30) return;
    this.sized = [width, height];
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const g = this.canvas.getContext('2d')!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(this.element);
    const soft = style.getPropertyValue('--soft').trim();
    const lines = style.getPropertyValue('--line').trim();
    g.font = `10.5px ${style.fontFamily}`;
    this.range = this.spec.range ?? xRange(this.spec.curves);
    const axis = yAxis(this.spec.curves, this.spec.log);
    const plotHeight = height - margin.top - margin.bottom;
    const levels = yTicks(axis, plotHeight);
    const labels = levels.map((tick) => levelText(axis, tick, levels[1] - levels[0]));
    this.left = Math.max(leastLeft, ...labels.map((label) => Math.ceil(g.measureText(label).width) + gap + 2));
    const plotWidth = width - this.left - margin.right;
    const toX = (x: number) => this.left + ((x - this.range[0]) / (this.range[1] - this.range[0] || 1)) * plotWidth;
    const toY = (y: number) => {
      const v = axis.log ? (y > 0 ? Math.log10(y) : axis.low) : y;
      const s = (v - axis.low) / (axis.high - axis.low || 1);
      return margin.top + (1 - Math.min(1.02, Math.max(0, s))) * plotHeight;
    };
    g.lineWidth = 1;
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    levels.forEach((tick, k) => {
      const y = Math.round(toY(axis.log ? Math.pow(10, tick) : tick)) + 0.5;
      g.strokeStyle = lines;
      g.beginPath();
      g.moveTo(this.left, y);
      g.lineTo(width - margin.right, y);
      g.stroke();
      g.fillStyle = soft;
      g.fillText(labels[k], this.left - gap, y);
    });
    g.textBaseline = 'alphabetic';
    g.textAlign = 'center';
    g.fillStyle = soft;
    const ticks = niceTicks(this.range[0], this.range[1], Math.max(2, Math.floor(plotWidth / 90)));
    ticks.forEach((tick, k) => {
      const label = tickText(tick, ticks[1] - ticks[0]) + (k === ticks.length - 1 ? ` ${this.spec.xLabel ?? 's'}` : '');
      const half = g.measureText(label).width / 2;
      g.fillText(label, Math.min(toX(tick), width - margin.right - half + 6), height - 4);
    });
    for (const curve of this.spec.curves) drawCurve(g, curve, this.range, toX, toY, plotWidth);
    if (!Number.isNaN(this.at)) this.setCursor(this.at);
  }

  dispose(): void {
    this.onSize.disconnect();
    this.element.remove();
  }
}

/** Where there are more values than pixels, each column shows the span of its values: no peak is lost. */
function drawCurve(
  g: CanvasRenderingContext2D,
  curve: Curve,
  range: [number, number],
  toX: (x: number) => number,
  toY: (y: number) => number,
  width: number,
): void {
  const { x, y } = curve;
  const first = Math.max(0, lowerBound(x, range[0]) - 1);
  const last = Math.min(x.length, lowerBound(x, range[1]) + 1);
  g.strokeStyle = curve.color;
  g.lineWidth = 1.4;
  g.lineJoin = 'round';
  g.beginPath();
  if (last - first <= 3 * width) {
    let down = false;
    for (let i = first; i < last; ++i) {
      if (!Number.isFinite(y[i])) {
        down = false;
        continue;
      }
      if (down) g.lineTo(toX(x[i]), toY(y[i]));
      else g.moveTo(toX(x[i]), toY(y[i]));
      // A point alone would be no line.
      if (!down && !(i + 1 < last && Number.isFinite(y[i + 1]))) g.lineTo(toX(x[i]) + 3, toY(y[i]));
      down = true;
    }
  } else {
    let column = -1;
    let low = Infinity;
    let high = -Infinity;
    const flush = () => {
      if (column < 0 || !(low <= high)) return;
      g.lineTo(column, toY(high));
      g.lineTo(column, toY(low));
    };
    for (let i = first; i < last; ++i) {
      const c = Math.round(toX(x[i]));
      if (c !== column) {
        flush();
        column = c;
        low = Infinity;
        high = -Infinity;
      }
      if (y[i] < low) low = y[i];
      if (y[i] > high) high = y[i];
    }
    flush();
  }
  g.stroke();
}

function valueAt(curve: Curve, x: number): number | undefined {
  const i = lowerBound(curve.x, x + 1e-9) - 1;
  return i >= 0 ? curve.y[i] : undefined;
}

function xRange(curves: Curve[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const { x } of curves) {
    if (!x.length) continue;
    low = Math.min(low, x[0]);
    high = Math.max(high, x[x.length - 1]);
  }
  return low < high ? [low, high] : [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
}

function yAxis(curves: Curve[], log: boolean): Axis {
  let zero = false;
  let low = Infinity;
  let high = -Infinity;
  for (const { y } of curves)
    for (let i = 0; i < y.length; ++i) {
      const v = y[i];
      zero ||= log && v === 0;
      if (!Number.isFinite(v) || (log && v <= 0)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  if (!(low <= high)) return log ? { low: -13, high: -8, log, zero } : { low: 0, high: 1, log, zero };
  if (log) {
    const top = Math.ceil(Math.log10(high) - 1e-6);
    const bottom = Math.max(Math.floor(Math.log10(low)), top - 18);
    return { low: Math.min(bottom, top - 1) - (zero ? 1 : 0), high: top, log, zero };
  }
  if (low > 0 && low < 0.6 * high) low = 0; // most quantities are read against zero
  // Not closer than a hundred thousandth of the values: that would be rounding, with labels of twelve figures.
  const least = 1e-5 * Math.max(Math.abs(low), Math.abs(high));
  const room = high > low ? Math.max(0.06 * (high - low), least) : Math.max(0.5, 0.1 * Math.abs(high));
  return { low: low === 0 ? 0 : low - room, high: high + room, log, zero };
}

function yTicks(axis: Axis, height: number): number[] {
  const count = Math.max(2, Math.floor(height / 24));
  if (!axis.log) return niceTicks(axis.low, axis.high, count);
  const stride = Math.max(1, Math.ceil((axis.high - axis.low) / count));
  const ticks: number[] = [];
  if (axis.zero) ticks.push(axis.low);
  for (let e = axis.low + (axis.zero ? Math.ceil(0.6 * stride) : 0); e <= axis.high; ++e)
    if ((axis.high - e) % stride === 0) ticks.push(e);
  return ticks;
}

function levelText(axis: Axis, tick: number, step: number): string {
  if (!axis.log) return tickText(tick, step);
  return axis.zero && tick === axis.low ? '0' : power(tick);
}

function niceTicks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count || 1;
  const base = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw * 0.999)!;
  const ticks: number[] = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) ticks.push(v);
  return ticks;
}

/** As many figures as tell ticks that are `step` apart. */
function tickText(value: number, step: number): string {
  const size = Math.abs(value);
  if (size < 1e-9 * step || size < 1e-12) return '0';
  const figures = step > 0 ? Math.max(1, Math.ceil(Math.log10(size / step) - 1e-9) + 1) : 4;
  if (size >= 1e5 || size < 1e-2) {
    const exponent = Math.floor(Math.log10(size) + 1e-9);
    const lead = Number((value / Math.pow(10, exponent)).toFixed(Math.min(9, figures - 1)));
    return `${lead}·${power(exponent)}`.replace('-', '−');
  }
  return String(Number(value.toPrecision(Math.min(12, Math.max(4, figures))))).replace('-', '−');
}
