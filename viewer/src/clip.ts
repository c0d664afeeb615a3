// A replay seen as a function of time: poses between frames, contacts of a frame, and what the whole recording spans.
import type { Contacts, Replay } from './format';
import { lowerBound } from './search';
import { geomRadius } from './shapes';

export interface Box {
  min: [number, number, number];
  max: [number, number, number];
}

/** Position and radius. */
export type Ball = [number, number, number, number];

export interface Extent {
  box: Box;
  balls: Ball[];
}

const noContacts: Contacts = {
  count: 0,
  position: new Float32Array(0),
  normal: new Float32Array(0),
  force: new Float32Array(0),
  mode: new Uint8Array(0),
  residual: new Float32Array(0),
  mu: new Float32Array(0),
  geoms: null,
};

export class Clip {
  readonly begin: number;
  readonly end: number;

  constructor(readonly replay: Replay) {
    this.begin = replay.time[0];
    this.end = replay.time[replay.frames - 1];
  }

  /** The last frame that is not later than t. */
  frameAt(t: number): number {
    const { time, frames } = this.replay;
    let low = 0;
    let high = frames;
    const late = t + 1e-9; // so that the very time of a frame finds it after rounding
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (time[middle] <= late) low = middle;
      else high = middle;
    }
    return low;
  }

  /** World poses of all bodies at t: positions [m] and unit quaternions (w, x, y, z). */
  pose(t: number, p: Float32Array, q: Float32Array): void {
    const { replay } = this;
    const a = this.frameAt(t);
    const b = Math.min(a + 1, replay.frames - 1);
    const span = replay.time[b] - replay.time[a];
    const s = span > 0 ? Math.min(1, Math.max(0, (t - replay.time[a]) / span)) : 0;
    const bodies = replay.bodies.length;
    const { position, positionScale, quaternion } = replay;
    for (let i = 0, pa = a * bodies * 3, pb = b * bodies * 3; i < 3 * bodies; ++i)
      p[i] = positionScale * (position[pa + i] + s * (position[pb + i] - position[pa + i]));
    for (let i = 0, qa = a * bodies * 4, qb = b * bodies * 4; i < 4 * bodies; i += 4)
      slerp(quaternion, qa + i, quaternion, qb + i, s, q, i);
  }

  /** The residual [N s] of the step that a frame shows; NaN where nobody tells. The last frame shows the step before it. */
  residualAt(frame: number): number {
    const series = this.replay.series.find((each) => each.name === 'residual');
    if (!series) return NaN;
    const i = lowerBound(series.time, this.replay.time[frame] + 1e-9) - 1;
    return i >= 0 ? series.values[i] : NaN;
  }

  contactsAt(frame: number): Contacts {
    const { contacts, contactStart } = this.replay;
    if (!contacts || !contactStart) return noContacts;
    const a = contactStart[frame];
    const b = contactStart[frame + 1];
    return {
      count: b - a,
      position: contacts.position.subarray(3 * a, 3 * b),
      normal: contacts.normal.subarray(3 * a, 3 * b),
      force: contacts.force.subarray(3 * a, 3 * b),
      mode: contacts.mode.subarray(a, b),
      residual: contacts.residual.subarray(a, b),
      mu: contacts.mu.subarray(a, b),
      geoms: contacts.geoms ? contacts.geoms.subarray(2 * a, 2 * b) : null,
    };
  }

  /** Positions of the bodies at some moments over the whole time. */
  private track(): Float32Array[] {
    const { replay } = this;
    const p = new Float32Array(3 * replay.bodies.length);
    const q = new Float32Array(4 * replay.bodies.length);
    const samples = Math.min(replay.frames, 24);
    return Array.from({ length: samples }, (_, k) => {
      this.pose(replay.time[samples > 1 ? Math.round((k * (replay.frames - 1)) / (samples - 1)) : 0], p, q);
      return Float32Array.from(p);
    });
  }

  /** Bodies with a shape that get about; all, where none does. */
  movingBodies(): number[] {
    const radius = bodyRadii(this.replay);
    const track = this.track();
    const all = [...Array(this.replay.bodies.length).keys()].filter((i) => radius[i] > 0);
    const moved = (i: number, at: Float32Array) =>
      [0, 1, 2].some((k) => Math.abs(at[3 * i + k] - track[0][3 * i + k]) > 0.02 * radius[i] + 1e-4);
    const moving = all.filter((i) => track.some((at) => moved(i, at)));
    return moving.length ? moving : all;
  }

  /** Where the moving bodies are over time, and the box they keep to, leaving out the few that get far away. */
  extent(): Extent {
    const { replay } = this;
    const bodies = replay.bodies.length;
    const radius = bodyRadii(replay);
    const track = this.track();
    const samples = track.length;
    const all = [...Array(bodies).keys()].filter((i) => radius[i] > 0);
    if (!all.length) return { box: { min: [-0.5, -0.5, 0], max: [0.5, 0.5, 1] }, balls: [] };
    let moving = this.movingBodies();
    // A hand that holds still belongs to what it holds; a hall around it does not.
    const near = diagonal(spread(track, all, radius, 0)) < 4 * diagonal(spread(track, moving, radius, 0));
    if (near) moving = all;
    // A thousand of many bodies tell the same as all.
    const every = Math.ceil(moving.length / 1000);
    moving = moving.filter((_, k) => k % every === 0);
    const first = spread(track.slice(0, 1), moving, radius, 0);
    const whole = spread(track, moving, radius, 0.03);
    // Something that travels far is better seen where it starts; "follow" goes along with it.
    const far = diagonal(whole) > 5 * diagonal(first);
    const stride = Math.ceil((moving.length * samples) / 20000);
    const balls: Ball[] = [];
    let k = 0;
    for (const at of far ? track.slice(0, 1) : track)
      for (const i of moving) if (k++ % stride === 0) balls.push([at[3 * i], at[3 * i + 1], at[3 * i + 2], radius[i]]);
    return { box: far ? first : whole, balls };
  }

  /** The radius of an ordinary body: marks should be smaller than what they are on. */
  ordinaryRadius(): number {
    const radii = Array.from(bodyRadii(this.replay))
      .filter((r) => r > 0)
      .sort((a, b) => a - b);
    return radii.length ? radii[radii.length >> 1] : 0;
  }

  /** A typical large contact force, to scale the arrows by. */
  typicalForce(): number {
    const contacts = this.replay.contacts;
    return contacts ? typicalForce(contacts) : 0;
  }
}

/** The 90 % point of the forces that act. */
export function typicalForce(contacts: Contacts): number {
  const stride = Math.max(1, Math.floor(contacts.count / 5000));
  const sizes: number[] = [];
  for (let i = 0; i < contacts.count; i += stride) {
    const f = contacts.force;
    const size = Math.hypot(f[3 * i], f[3 * i + 1], f[3 * i + 2]);
    if (size > 0 && Number.isFinite(size)) sizes.push(size);
  }
  sizes.sort((a, b) => a - b);
  return sizes.length ? sizes[Math.floor(0.9 * (sizes.length - 1))] : 0;
}

function bodyRadii(replay: Replay): Float32Array {
  const radius = new Float32Array(replay.bodies.length);
  for (const geom of replay.geoms)
    if (geom.body >= 0)
      radius[geom.body] = Math.max(
        radius[geom.body],
        Math.hypot(geom.position[0], geom.position[1], geom.position[2]) + geomRadius(geom, replay.meshes),
      );
  return radius;
}

function spread(track: Float32Array[], moving: number[], radius: Float32Array, cut: number): Box {
  const box: Box = { min: [0, 0, 0], max: [0, 0, 0] };
  for (let k = 0; k < 3; ++k) {
    const low: number[] = [];
    const high: number[] = [];
    for (const at of track)
      for (const i of moving) {
        low.push(at[3 * i + k] - radius[i]);
        high.push(at[3 * i + k] + radius[i]);
      }
    low.sort((a, b) => a - b);
    high.sort((a, b) => a - b);
    // With few samples nothing is an outlier.
    const skip = low.length > 100 ? Math.floor(cut * low.length) : 0;
    box.min[k] = low[skip];
    box.max[k] = high[high.length - 1 - skip];
  }
  return box;
}

function diagonal(box: Box): number {
  return Math.hypot(box.max[0] - box.min[0], box.max[1] - box.min[1], box.max[2] - box.min[2]);
}

function slerp(
  a: ArrayLike<number>,
  ia: number,
  b: ArrayLike<number>,
  ib: number,
  s: number,
  out: Float32Array,
  io: number,
): void {
  const na = Math.hypot(a[ia], a[ia + 1], a[ia + 2], a[ia + 3]) || 1;
  const nb = Math.hypot(b[ib], b[ib + 1], b[ib + 2], b[ib + 3]) || 1;
  let dot = (a[ia] * b[ib] + a[ia + 1] * b[ib + 1] + a[ia + 2] * b[ib + 2] + a[ia + 3] * b[ib + 3]) / (na * nb);
  const sign = dot < 0 ? -1 : 1;
  dot *= sign;
  let wa = 1 - s;
  let wb = s;
  if (dot < 0.9995) {
    const angle = Math.acos(dot);
    const sine = Math.sin(angle);
    wa = Math.sin((1 - s) * angle) / sine;
    wb = Math.sin(s * angle) / sine;
  }
  wa /= na;
  wb *= sign / nb;
  const w = wa * a[ia] + wb * b[ib];
  const x = wa * a[ia + 1] + wb * b[ib + 1];
  const y = wa * a[ia + 2] + wb * b[ib + 2];
  const z = wa * a[ia + 3] + wb * b[ib + 3];
  const n = Math.hypot(w, x, y, z);
  out[io] = n > 0 ? w / n : 1;
  out[io + 1] = n > 0 ? x / n : 0;
  out[io + 2] = n > 0 ? y / n : 0;
  out[io + 3] = n > 0 ? z / n : 0;
}
