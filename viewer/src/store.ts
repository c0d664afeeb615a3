// What is shown, in one place: buttons, keys, the hash and scripts all set it here.

export interface Settings {
  contacts: boolean;
  forces: boolean;
  cones: boolean;
  colorBy: 'mode' | 'residual';
  arrowScale: number;
  arrowLog: boolean;
  markScale: number;
  shapes: 'visual' | 'collision';
  wireframe: boolean;
  translucent: boolean;
  com: boolean;
  frames: boolean;
  plots: boolean;
  panel: boolean;
  inside: boolean;
  help: boolean;
  drag: boolean;
  ui: boolean;
  /** "auto" follows the browser's light or dark; otherwise a CSS colour, or "transparent". */
  background: string;
}

export const defaults: Settings = {
  contacts: true,
  forces: true,
  cones: false,
  colorBy: 'mode',
  arrowScale: 1,
  arrowLog: false,
  markScale: 1,
  shapes: 'visual',
  wireframe: false,
  translucent: false,
  com: false,
  frames: false,
  plots: true,
  panel: true,
  inside: false,
  help: false,
  drag: false,
  ui: true,
  background: 'auto',
};

const choices: Partial<Record<keyof Settings, string[]>> = {
  colorBy: ['mode', 'residual'],
  shapes: ['visual', 'collision'],
};

/** Addresses and scripts may ask for what there is not. */
function fits(name: keyof Settings, value: unknown): boolean {
  if (typeof value !== typeof defaults[name]) return false;
  if (typeof value === 'number') return Number.isFinite(value) && value > 0;
  return choices[name]?.includes(value as string) ?? true;
}

export class Store {
  readonly value: Settings = { ...defaults };
  private listeners: ((settings: Settings) => void)[] = [];

  set(change: Partial<Settings>): void {
    let changed = false;
    for (const [name, value] of Object.entries(change) as [keyof Settings, never][]) {
      if (!(name in this.value) || this.value[name] === value || !fits(name, value)) continue;
      this.value[name] = value;
      changed = true;
    }
    if (changed) for (const listener of this.listeners) listener(this.value);
  }

  toggle(name: keyof Settings): void {
    if (name === 'shapes') this.set({ shapes: this.value.shapes === 'visual' ? 'collision' : 'visual' });
    else this.set({ [name]: !this.value[name] });
  }

  on(listener: (settings: Settings) => void): void {
    this.listeners.push(listener);
  }
}
