// One replay or live world on the stage: its scene, its contact marks, and the moment they show.
import { Clip, typicalForce, type Extent } from './clip';
import { ContactMarks } from './contacts';
import type { Contacts, Replay } from './format';
import type { LiveState } from './live';
import { SceneView } from './scene';
import type { Settings } from './store';
import { walls } from './walls';

export class World {
  readonly clip: Clip;
  readonly view: SceneView;
  readonly marks: ContactMarks;
  readonly extent: Extent;
  contacts: Contacts;
  frame = 0;
  time: number;
  step: number;
  /** Of the step shown, as the curve has it [N s]; NaN where nobody tells. */
  residual = NaN;
  private p: Float32Array;
  private q: Float32Array;
  private drawn: Contacts | null = null;
  private scaled = false; // whether the live forces have set the arrows' scale
  private look: Settings | null = null;

  constructor(readonly replay: Replay) {
    this.clip = new Clip(replay);
    this.extent = this.clip.extent();
    const { min, max } = this.extent.box;
    const size = Math.max(0.02, 0.75 * Math.hypot(max[0] - min[0], max[1] - min[1], max[2] - min[2]));
    const lowest = Math.min(...[0, 1, 2].map((k) => (replay.up[k] > 0.5 ? min[k] : Infinity)), Infinity);
    this.view = new SceneView(replay, size, Number.isFinite(lowest) ? lowest : 0, walls(this.clip));
    const unit = Math.min(size, 6.5 * this.clip.ordinaryRadius() || size);
    this.marks = new ContactMarks(unit, replay.geoms);
    this.marks.reference = this.clip.typicalForce() || 1;
    this.view.scene.add(this.marks.group);
    this.p = new Float32Array(3 * replay.bodies.length);
    this.q = new Float32Array(4 * replay.bodies.length);
    this.contacts = this.clip.contactsAt(0);
    this.time = this.clip.begin;
    this.step = replay.step[0];
    this.showTime(this.clip.begin);
  }

  showTime(t: number): void {
    const { clip, replay } = this;
    this.time = Math.min(clip.end, Math.max(clip.begin, t));
    clip.pose(this.time, this.p, this.q);
    this.view.setPose(this.p, this.q);
    const frame = clip.frameAt(this.time);
    this.step = replay.step[frame];
    this.residual = clip.residualAt(frame);
    if (frame !== this.frame || !this.drawn) {
      this.frame = frame;
      this.setContacts(clip.contactsAt(frame));
    }
  }

  showLive(state: LiveState, contacts: Contacts): void {
    const { p, q } = state;
    this.step = state.step;
    this.time = state.time;
    this.residual = state.values?.residual ?? NaN;
    this.view.setPose(p, q);
    this.p.set(p);
    this.q.set(q);
    // The arrows' scale follows slowly, so that an impact does not make all others vanish.
    const typical = typicalForce(contacts);
    if (typical > 0) this.marks.reference = this.scaled ? 0.97 * this.marks.reference + 0.03 * typical : typical;
    this.scaled ||= typical > 0;
    this.setContacts(contacts);
  }

  private setContacts(contacts: Contacts): void {
    this.contacts = contacts;
    this.drawn = contacts;
    if (this.look) this.marks.set(contacts, this.look);
  }

  setLook(settings: Settings): void {
    this.look = settings;
    this.view.setLook(settings);
    this.view.setPose(this.p, this.q); // what was hidden was not kept up to date
    this.marks.set(this.contacts, settings);
  }

  /** Whether there are contacts of which nobody tells how well they were solved. */
  get untold(): boolean {
    return this.contacts.count > 0 && this.contacts.residual.some(Number.isNaN);
  }

  pairName(i: number): string {
    const pair = this.contacts.geoms;
    if (!pair) return `contact ${i + 1}`;
    return `${this.geomName(pair[2 * i])} | ${this.geomName(pair[2 * i + 1])}`;
  }

  private geomName(i: number): string {
    const geom = this.replay.geoms[i];
    if (!geom) return `geom ${i}`;
    return geom.name || (geom.body >= 0 ? this.replay.bodies[geom.body].name : 'ground') || `geom ${i}`;
  }

  dispose(): void {
    this.view.dispose();
    this.marks.dispose();
  }
}
