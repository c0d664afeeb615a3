// The live page's own parts: the bar with run, step and reset, and the controls of solver, world and drives.
import { h, short } from './dom';
import { icon } from './icons';
import type { Choice, Command, Controls, LiveState, Slider } from './live';
import { button } from './timeline';

type Send = (command: Command) => void;

export class LiveBar {
  paused = false;
  private play = button('pause', 'Pause (space)', () => this.toggle());
  private clock = h('span', { class: 'clock' });
  private badge = h('span', { class: 'badge' }, 'connecting');

  constructor(
    parent: HTMLElement,
    private send: Send,
  ) {
    parent.append(
      h(
        'div',
        { class: 'bar live' },
        h(
          'div',
          { class: 'bar-buttons' },
          this.play,
          button('forward', 'One step (right)', () => send({ type: 'step' })),
          button('reset', 'Start again', () => send({ type: 'reset' })),
        ),
        this.badge,
        this.clock,
      ),
    );
  }

  toggle(): void {
    this.send({ type: this.paused ? 'play' : 'pause' });
  }

  update(state: LiveState): void {
    if (this.paused !== state.paused) {
      this.paused = state.paused;
      this.play.innerHTML = icon(this.paused ? 'play' : 'pause');
      this.play.title = this.paused ? 'Run (space)' : 'Pause (space)';
      this.play.setAttribute('aria-label', this.play.title);
    }
    const failed = state.status !== undefined && state.status !== 'solved';
    this.badge.className = `badge ${failed ? 'warn' : state.paused ? '' : 'good'}`;
    const pace = state.real_time !== undefined && !state.paused ? ` ${state.real_time.toFixed(2)}×` : '';
    this.badge.textContent = failed ? state.status! : state.paused ? 'paused' : `live${pace}`;
    this.badge.title = "Simulated time per real time, or the solver's status";
    this.clock.textContent = `${state.time.toFixed(3)} s`;
  }

  link(connected: boolean): void {
    if (connected) return;
    this.badge.className = 'badge bad';
    this.badge.textContent = 'connection lost, trying again';
  }
}

const groupNames: Record<string, string> = { solver: 'Solver', world: 'World', drives: 'Drives' };

type Row = { element: HTMLElement; show: (value: string | number) => void };

/** Choices and sliders, by group, and what keeps them up to date. */
export class ControlRows {
  readonly groups: { title: string; content: HTMLElement[] }[];
  private rows = new Map<string, Row>();

  constructor(controls: Controls, send: Send) {
    const groups = new Map<string, HTMLElement[]>();
    const add = (group: string, name: string, row: Row) => {
      this.rows.set(name, row);
      const list = groups.get(group);
      if (list) list.push(row.element);
      else groups.set(group, [row.element]);
    };
    for (const choice of controls.choices ?? []) add('solver', choice.name, choiceRow(choice, send));
    for (const slider of controls.sliders ?? []) add(slider.group ?? 'world', slider.name, sliderRow(slider, send));
    const own = h('button', { class: 'text', onclick: () => send({ type: 'defaults' }) }, "The scene's own values");
    if (groups.size)
      groups.get(groups.has('world') ? 'world' : [...groups.keys()][0])!.push(h('div', { class: 'row' }, own));
    this.groups = [...groups].map(([group, content]) => ({ title: groupNames[group] ?? group, content }));
  }

  /** Takes over what was set by another page, or by a reset. */
  update(controls: Controls): void {
    for (const each of [...(controls.choices ?? []), ...(controls.sliders ?? [])])
      this.rows.get(each.name)?.show(each.value);
  }
}

function choiceRow(choice: Choice, send: Send): Row {
  const label = choice.label ?? choice.name;
  const select = h('select', { 'aria-label': label, 'data-name': choice.name });
  for (const value of choice.values) select.append(h('option', { value: String(value) }, String(value)));
  select.value = String(choice.value);
  select.addEventListener('change', () => {
    const value = choice.values.find((each) => String(each) === select.value)!;
    send({ type: 'set', name: choice.name, value });
    select.blur();
  });
  return {
    element: h('label', { class: 'row' }, h('span', {}, label), select),
    show: (value) => (select.value = String(value)),
  };
}

function sliderRow(slider: Slider, send: Send): Row {
  const label = slider.label ?? slider.name;
  const log = !!slider.log && slider.min > 0;
  const to = (value: number) => (log ? Math.log10(value) : value);
  const from = (value: number) => (log ? Math.pow(10, value) : value);
  const span = to(slider.max) - to(slider.min);
  const input = h('input', {
    type: 'range',
    min: String(to(slider.min)),
    max: String(to(slider.max)),
    step: String(span / 500),
    'aria-label': label,
    'data-name': slider.name,
  });
  const shown = h('span', { class: 'amount' });
  let touched = -Infinity;
  const tell = (value: number) => {
    const number = `${short(value)}${slider.unit ? ` ${slider.unit}` : ''}`;
    shown.textContent = value === 0 && slider.zero ? slider.zero : number;
  };
  const show = (value: string | number) => {
    // What comes back while the slider moves is older than where it is.
    if (performance.now() - touched < 500) return;
    input.value = String(to(Number(value)));
    tell(Number(value));
  };
  show(slider.value);
  input.addEventListener('input', () => {
    const value = Number(from(Number(input.value)).toPrecision(6));
    touched = performance.now();
    tell(value);
    send({ type: 'set', name: slider.name, value });
  });
  return { element: h('label', { class: 'row slider' }, h('span', {}, label), shown, input), show };
}
