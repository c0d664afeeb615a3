// The connection to a running simulation: its scene, its stream of states, and commands back to it.
import type { Contacts, Inside, Replay } from './format';
import { unpackBytes } from './unpack';

export interface LiveState {
  step: number;
  time: number;
  paused: boolean;
  p: number[];
  q: number[];
  contacts?: number[][];
  values?: Record<string, number>;
  status?: string;
  real_time?: number;
}

export interface Choice {
  name: string;
  label?: string;
  values: (string | number)[];
  value: string | number;
}

export interface Slider {
  name: string;
  label?: string;
  unit?: string;
  min: number;
  max: number;
  log?: boolean;
  /** What 0 means, where it is not a number. */
  zero?: string;
  value: number;
  group?: string;
}

export interface Controls {
  choices?: Choice[];
  sliders?: Slider[];
}

export type Command =
  | { type: 'play' | 'pause' | 'step' | 'reset' | 'defaults' }
  | { type: 'set'; name: string; value: string | number }
  | { type: 'release'; viewer: string }
  | { type: 'drag'; viewer: string; body: number; local: number[]; target: number[] };

export interface LiveEvents {
  scene: (replay: Replay, controls: Controls) => void;
  state: (state: LiveState) => void;
  /** Somebody set something. */
  controls: (controls: Controls) => void;
  link: (connected: boolean) => void;
}

export class LiveLink {
  private source: EventSource | null = null;
  private wait = 300;
  private timer = 0;
  private latest = new Map<string, Command>(); // what waits to be sent, the newest per kind and name
  private sending = false;

  constructor(
    private base: string,
    private events: LiveEvents,
  ) {}

  /** Connects, and goes on trying for as long as the page is seen. */
  start(): void {
    // A browser has six connections to one server, and every stream holds one: hidden pages give theirs back.
    document.addEventListener('visibilitychange', () => (document.hidden ? this.rest() : void this.connect()));
    if (!document.hidden) void this.connect();
  }

  private rest(): void {
    this.source?.close();
    this.source = null;
    window.clearTimeout(this.timer);
  }

  private async connect(): Promise<void> {
    window.clearTimeout(this.timer);
    try {
      await this.loadScene();
      if (document.hidden) return;
      this.open();
      this.wait = 300;
    } catch (error) {
      console.info(`no simulation at ${this.base || 'this address'} yet: ${(error as Error).message}`);
      this.retry();
    }
  }

  private async loadScene(): Promise<void> {
    const answer = await fetch(`${this.base}/api/scene`, { cache: 'no-store' });
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    const replay = await unpackBytes(new Uint8Array(await answer.arrayBuffer()));
    this.events.scene(replay, await this.fetchControls());
  }

  private async fetchControls(): Promise<Controls> {
    const answer = await fetch(`${this.base}/api/controls`, { cache: 'no-store' });
    return answer.ok ? await answer.json() : {};
  }

  private open(): void {
    this.source?.close();
    const source = new EventSource(`${this.base}/api/stream`);
    this.source = source;
    source.onopen = () => this.events.link(true);
    source.onmessage = (event) => this.events.state(JSON.parse(event.data));
    source.addEventListener('scene', () => {
      this.loadScene().catch(() => this.lost());
    });
    source.addEventListener('controls', (event) => this.events.controls(JSON.parse(event.data)));
    // The browser would reconnect by itself, but to a server that may run another scene by then.
    source.onerror = () => this.lost();
  }

  private lost(): void {
    this.source?.close();
    this.source = null;
    this.events.link(false);
    this.retry();
  }

  private retry(): void {
    window.clearTimeout(this.timer);
    if (document.hidden) return;
    this.timer = window.setTimeout(() => void this.connect(), this.wait);
    this.wait = Math.min(3000, 1.6 * this.wait);
  }

  /** Sends a command; while one is on its way, only the newest of each kind waits. */
  send(command: Command): void {
    const key = command.type === 'set' ? `set ${command.name}` : command.type;
    if (command.type === 'release') this.latest.delete('drag');
    this.latest.set(key, command);
    void this.flush();
  }

  private async flush(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    while (this.latest.size) {
      const [key, command] = this.latest.entries().next().value!;
      this.latest.delete(key);
      try {
        await fetch(`${this.base}/api/command`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify(command),
        });
      } catch {
        this.latest.clear(); // the stream notices that the server is gone
      }
    }
    this.sending = false;
  }

  async step(): Promise<Inside> {
    return await (await this.ask('/api/step')).json();
  }

  async problem(step: number): Promise<Uint8Array> {
    return new Uint8Array(await (await this.ask(`/api/problem.npz?step=${step}`)).arrayBuffer());
  }

  /** Throws with what the server says where it does not have it. */
  private async ask(path: string): Promise<Response> {
    const answer = await fetch(`${this.base}${path}`, { cache: 'no-store' });
    if (!answer.ok) throw new Error((await answer.text()).trim() || `the server answers ${answer.status}`);
    return answer;
  }
}

/** Rows [position, normal, force, mode, residual, mu] and, if the server sends them, the two geoms. */
export function contactsOf(rows: number[][]): Contacts {
  const count = rows.length;
  const out: Contacts = {
    count,
    position: new Float32Array(3 * count),
    normal: new Float32Array(3 * count),
    force: new Float32Array(3 * count),
    mode: new Uint8Array(count),
    residual: new Float32Array(count),
    mu: new Float32Array(count),
    geoms: count && rows[0].length >= 14 ? new Uint32Array(2 * count) : null,
  };
  rows.forEach((row, i) => {
    for (let k = 0; k < 3; ++k) {
      out.position[3 * i + k] = row[k];
      out.normal[3 * i + k] = row[3 + k];
      out.force[3 * i + k] = row[6 + k];
    }
    out.mode[i] = row[9];
    out.residual[i] = row[10];
    out.mu[i] = row[11];
    if (out.geoms) {
      out.geoms[2 * i] = row[12];
      out.geoms[2 * i + 1] = row[13];
    }
  });
  return out;
}
