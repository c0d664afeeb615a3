// The panel at the side: how things are shown, the scene's facts, and its bodies.
import { h } from './dom';
import { icon } from './icons';
import type { Settings, Store } from './store';

export interface PanelActions {
  select: (world: number, body: number) => void;
  picture: () => void;
  video: (() => void) | null;
}

export class Panel {
  private refreshers: ((settings: Settings) => void)[] = [];

  constructor(
    private parent: HTMLElement,
    private store: Store,
  ) {
    this.clear();
    store.on((settings) => this.refreshers.forEach((refresh) => refresh(settings)));
  }

  clear(): void {
    this.refreshers = [];
    // Where the panel is a drawer it covers the button that opened it.
    const close = h('button', {
      class: 'icon drawer-close',
      'aria-label': 'Close',
      html: icon('close'),
      onclick: () => this.store.set({ panel: false }),
    });
    this.parent.replaceChildren(close);
  }

  section(title: string, open: boolean, ...content: Node[]): HTMLElement {
    const section = h('details', { class: 'section', open }, h('summary', {}, title), ...content);
    this.parent.append(section);
    return section;
  }

  addView(actions: PanelActions, hasResiduals: boolean): void {
    const buttons = h(
      'div',
      { class: 'row' },
      h('button', { class: 'text', onclick: actions.picture }, 'Save picture'),
      actions.video ? h('button', { class: 'text', onclick: actions.video }, 'Record video') : null,
    );
    this.section(
      'View',
      true,
      this.choice('shapes', 'Shapes', [
        ['visual', 'visual'],
        ['collision', 'collision'],
      ]),
      ...(hasResiduals
        ? [
            this.choice('colorBy', 'Contacts by', [
              ['mode', 'mode'],
              ['residual', 'residual'],
            ]),
          ]
        : []),
      this.choice('arrowLog', 'Force arrows', [
        [false, 'linear'],
        [true, 'log'],
      ]),
      this.slider('arrowScale', 'Arrow length', 0.1, 10),
      this.slider('markScale', 'Mark size', 0.2, 5),
      h('div', { class: 'row' }, this.check('translucent', 'see through'), this.check('wireframe', 'wireframe')),
      buttons,
    );
  }

  addBodies(world: number, names: { name: string; mass: number }[], actions: PanelActions, title = 'Bodies'): void {
    if (!names.length) return;
    const list = h('div', { class: 'bodies' });
    const filter = h('input', { type: 'search', placeholder: 'find a body', 'aria-label': 'Find a body' });
    const fill = () => {
      const text = filter.value.toLowerCase();
      const found = names.map((body, i) => ({ ...body, i })).filter((body) => body.name.toLowerCase().includes(text));
      list.replaceChildren(
        ...found
          .slice(0, 200)
          .map((body) =>
            h(
              'button',
              { class: 'body', onclick: () => actions.select(world, body.i) },
              h('span', {}, body.name || `body ${body.i}`),
              h('span', { class: 'soft' }, `${Number((body.mass ?? 0).toPrecision(3))} kg`),
            ),
          ),
      );
      if (found.length > 200) list.append(h('div', { class: 'soft' }, `and ${found.length - 200} more`));
    };
    filter.addEventListener('input', fill);
    fill();
    const content = names.length > 12 ? [filter, list] : [list];
    this.section(`${title} (${names.length})`, false, ...content);
  }

  private choice<K extends keyof Settings>(key: K, label: string, options: [Settings[K], string][]): HTMLElement {
    const buttons = options.map(([value, text]) =>
      h('button', { onclick: () => this.store.set({ [key]: value } as Partial<Settings>) }, text),
    );
    const refresh = (settings: Settings) =>
      buttons.forEach((each, i) => each.setAttribute('aria-pressed', String(settings[key] === options[i][0])));
    this.refreshers.push(refresh);
    refresh(this.store.value);
    return h('div', { class: 'row' }, h('span', {}, label), h('span', { class: 'segments' }, ...buttons));
  }

  private slider(key: 'arrowScale' | 'markScale', label: string, min: number, max: number): HTMLElement {
    const input = h('input', {
      type: 'range',
      min: String(Math.log10(min)),
      max: String(Math.log10(max)),
      step: '0.01',
      'aria-label': label,
    });
    input.addEventListener('input', () => this.store.set({ [key]: Math.pow(10, Number(input.value)) }));
    input.addEventListener('dblclick', () => this.store.set({ [key]: 1 }));
    const refresh = (settings: Settings) => (input.value = String(Math.log10(settings[key])));
    this.refreshers.push(refresh);
    refresh(this.store.value);
    return h('label', { class: 'row' }, h('span', {}, label), input);
  }

  private check(key: 'translucent' | 'wireframe', label: string): HTMLElement {
    const input = h('input', { type: 'checkbox' });
    input.addEventListener('change', () => this.store.set({ [key]: input.checked }));
    const refresh = (settings: Settings) => (input.checked = settings[key]);
    this.refreshers.push(refresh);
    refresh(this.store.value);
    return h('label', { class: 'check' }, input, label);
  }
}
