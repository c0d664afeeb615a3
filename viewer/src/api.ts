// window.almond and the hash: the same wishes from a script or from an address, for pictures and videos.
import type { App } from './app';
import type { Player } from './player';
import type { CameraPose } from './stage';
import { defaults, type Settings } from './store';

export interface Almond {
  ready: Promise<void>;
  readonly duration: number;
  readonly begin: number;
  readonly end: number;
  readonly frames: number;
  readonly time: number;
  seek(t: number): void;
  play(on?: boolean): void;
  camera(pose?: CameraPose): Required<CameraPose>;
  show(change: Partial<Settings>): void;
  follow(body: string | number | null): void;
  resize(width?: number, height?: number): void;
  render(): void;
  picture(): string;
}

export function makeApi(app: App, player: Player | null, ready: Promise<void>): Almond {
  const { stage, store } = app;
  return {
    ready,
    get duration() {
      return player?.duration ?? 0;
    },
    get begin() {
      return player?.begin ?? 0;
    },
    get end() {
      return player?.end ?? 0;
    },
    get frames() {
      return player?.finest().replay.frames ?? 1;
    },
    get time() {
      return player?.time ?? app.worlds[0]?.time ?? 0;
    },
    seek(t) {
      if (!player) return;
      player.playing = false;
      player.seek(t);
    },
    play(on = true) {
      player?.play(on);
    },
    camera(pose) {
      if (pose) {
        stage.setCamera(pose);
        app.keepCamera();
      }
      return {
        position: stage.camera.position.toArray(),
        target: stage.controls.target.toArray(),
        fov: stage.camera.fov,
      };
    },
    show(change) {
      store.set(change);
      stage.fitPlace();
    },
    follow(body) {
      const bodies = app.worlds[0]?.replay.bodies ?? [];
      const index = typeof body === 'string' ? bodies.findIndex((each) => each.name === body) : (body ?? -1);
      app.select(index >= 0 && index < bodies.length ? { world: 0, body: index } : null);
      app.follow(true);
    },
    resize(width, height) {
      stage.resize(width, height);
    },
    render() {
      stage.fitPlace();
      stage.render();
    },
    picture() {
      stage.render();
      return stage.canvas.toDataURL('image/png');
    },
  };
}

/** Applies "#t=1.5&camera=x,y,z,tx,ty,tz&ui=0&contacts=1&paused=1". Returns whether it should play. */
export function applyHash(app: App, player: Player | null): boolean {
  const wishes = new URLSearchParams(location.hash.slice(1));
  const change: Record<string, unknown> = {};
  for (const [name, text] of wishes) {
    if (!(name in defaults)) continue;
    const kind = typeof defaults[name as keyof Settings];
    if (kind === 'boolean') change[name] = text !== '0' && text !== 'false';
    else if (kind === 'number') change[name] = Number(text);
    else change[name] = text;
  }
  app.store.set(change as Partial<Settings>);
  const camera = wishes.get('camera')?.split(',').map(Number);
  const fov = Number(wishes.get('fov')) || undefined;
  if (camera?.length === 6 && camera.every(Number.isFinite)) {
    app.stage.setCamera({ position: camera.slice(0, 3), target: camera.slice(3), fov });
    app.keepCamera();
  } else if (fov) {
    app.stage.setCamera({ fov });
  }
  const follow = wishes.get('follow');
  if (follow) window.almond?.follow(follow);
  if (player) {
    const speed = Number(wishes.get('speed'));
    if (speed > 0) player.speed = Math.min(4, Math.max(0.05, speed));
    if (wishes.has('loop')) player.loop = wishes.get('loop') !== '0';
    if (wishes.has('t')) player.seek(Number(wishes.get('t')));
  }
  // A time in the address asks for that moment, unless it says to go on from there.
  return wishes.has('paused') ? wishes.get('paused') === '0' : !wishes.has('t');
}

declare global {
  interface Window {
    almond?: Almond;
  }
}
