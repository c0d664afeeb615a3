// Buttons over the picture, the keys that do the same, the legend, and the overlay that explains them.
import { modeColors, modeNames, residualStops, untold, type ResidualRange } from './contacts';
import { h, power } from './dom';
import { icon } from './icons';
import type { Settings, Store } from './store';

interface Tool {
  key: string;
  setting: keyof Settings;
  icon: string;
  label: string;
}

const tools: Tool[] = [
  { key: 'c', setting: 'contacts', icon: 'contacts', label: 'Contact points' },
  { key: 'f', setting: 'forces', icon: 'forces', label: 'Contact forces' },
  { key: 'k', setting: 'cones', icon: 'cones', label: 'Friction cones' },
  { key: 'v', setting: 'shapes', icon: 'shapes', label: 'Collision shapes' },
  { key: 'm', setting: 'com', icon: 'com', label: 'Centres of mass' },
  { key: 'x', setting: 'frames', icon: 'frames', label: 'Body frames' },
  { key: 'i', setting: 'inside', icon: 'inside', label: 'Inside the step' },
  { key: 'l', setting: 'plots', icon: 'plots', label: 'Plots' },
  { key: 'p', setting: 'panel', icon: 'panel', label: 'Panel' },
  { key: '?', setting: 'help', icon: 'help', label: 'Keys' },
];

const pressed = (settings: Settings, name: keyof Settings) =>
  name === 'shapes' ? settings.shapes === 'collision' : !!settings[name];

export class Toolbar {
  constructor(parent: HTMLElement, store: Store, live: boolean, resetView: () => void) {
    const shown: Tool[] = live
      ? [{ key: 'd', setting: 'drag', icon: 'drag', label: 'Pull bodies with the pointer' }, ...tools]
      : tools;
    const buttons = shown.map((tool) => {
      const title = `${tool.label} (${tool.key})`;
      const element = h('button', {
        class: `icon tool-${tool.setting}`,
        title,
        'aria-label': title,
        html: icon(tool.icon),
        onclick: () => store.toggle(tool.setting),
      });
      const refresh = (settings: Settings) => {
        element.setAttribute('aria-pressed', String(pressed(settings, tool.setting)));
      };
      store.on(refresh);
      refresh(store.value);
      return element;
    });
    const home = h('button', {
      class: 'icon',
      title: 'Reset view (r)',
      'aria-label': 'Reset view (r)',
      html: icon('home'),
      onclick: resetView,
    });
    parent.append(h('div', { class: 'toolbar', role: 'toolbar' }, home, ...buttons));
    window.addEventListener('keydown', (event) => {
      if (typing(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const tool = shown.find((each) => each.key === event.key.toLowerCase());
      if (tool) store.toggle(tool.setting);
      else if (event.key === 'Escape') store.set({ help: false, inside: false });
      else if (event.key === 'r') resetView();
    });
  }
}

/** Keys typed into a field are not ours. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !!target && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName));
}

/** What the colours of contacts mean. */
export class Legend {
  private element = h('div', { class: 'legend' });

  constructor(parent: HTMLElement) {
    parent.append(this.element);
  }

  /** `untoldToo`: some contacts have no residual. */
  update(settings: Settings, range: ResidualRange, any: boolean, untoldToo: boolean): void {
    this.element.hidden = !any || !(settings.contacts || settings.forces || settings.cones);
    if (settings.colorBy === 'mode') {
      this.element.replaceChildren(
        ...modeNames.map((name, i) =>
          h('span', { class: 'key' }, h('span', { class: 'dot', style: `background:${modeColors[i]}` }), name),
        ),
      );
    } else {
      this.element.replaceChildren(
        h('span', {}, 'share of residual [N s]'),
        h('span', {}, power(range.low)),
        h('span', { class: 'ramp', style: `background:linear-gradient(90deg, ${residualStops.join(', ')})` }),
        h('span', {}, power(range.high)),
        ...(untoldToo
          ? [h('span', { class: 'key' }, h('span', { class: 'dot', style: `background:${untold}` }), 'not known')]
          : []),
      );
    }
  }
}

const playKeys: [string, string][] = [
  ['space', 'play or pause'],
  ['← →', 'one frame; with shift ten'],
  ['home end', 'first, last frame'],
  ['↑ ↓', 'faster, slower'],
];
const liveKeys: [string, string][] = [
  ['space', 'run or pause'],
  ['→', 'one step'],
  ['ctrl or right drag', 'pull a body'],
];
const viewKeys: [string, string][] = [
  ['drag, two fingers', 'turn, move'],
  ['wheel, pinch', 'nearer, farther'],
  ['click', 'select a body'],
  ['double-click', 'look at a point'],
  ['t', 'follow the selected body'],
  ['r', 'reset view'],
];

export function helpOverlay(parent: HTMLElement, store: Store, live: boolean): void {
  const rows = (list: [string, string][]) =>
    list.map(([key, text]) =>
      h('tr', {}, h('td', {}, ...key.split(' ').map((part) => keyCap(part))), h('td', {}, text)),
    );
  const names: [string, string][] = tools.map((tool) => [tool.key, tool.label.toLowerCase()]);
  const close = h('button', { class: 'icon', 'aria-label': 'Close', html: icon('close') });
  const card = h(
    'div',
    { class: 'card', role: 'dialog', 'aria-label': 'Keys' },
    h('div', { class: 'card-head' }, h('h2', {}, 'Keys and pointer'), close),
    h(
      'div',
      { class: 'columns' },
      h('table', {}, ...rows(live ? liveKeys : playKeys), ...rows(viewKeys)),
      h('table', {}, ...rows(names)),
    ),
  );
  const overlay = h('div', { class: 'overlay' }, card);
  const hide = () => store.set({ help: false });
  close.addEventListener('click', hide);
  overlay.addEventListener('click', (event) => {
    if (event.target === overlay) hide();
  });
  const refresh = (settings: Settings) => (overlay.hidden = !settings.help);
  store.on(refresh);
  refresh(store.value);
  parent.append(overlay);
}

function keyCap(text: string): Node {
  return /^(or|drag,|drag|two|fingers|wheel,|pinch|click|double-click|right)$/.test(text)
    ? h('span', { class: 'gesture' }, `${text} `)
    : h('kbd', {}, text);
}
