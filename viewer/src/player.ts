// The time line: where we are, how fast it goes, and steps from frame to frame.
import type { Clip } from './clip';

export const speeds = [0.05, 0.1, 0.25, 0.5, 1, 2, 4];

export class Player {
  time: number;
  playing = false;
  speed = 1;
  loop = true;
  readonly begin: number;
  readonly end: number;
  onChange: () => void = () => {};

  constructor(private clips: Clip[]) {
    this.begin = Math.min(...clips.map((clip) => clip.begin));
    this.end = Math.max(...clips.map((clip) => clip.end));
    this.time = this.begin;
  }

  get duration(): number {
    return this.end - this.begin;
  }

  /** Lets real time pass [s]. */
  advance(elapsed: number): void {
    if (!this.playing || this.duration <= 0) return;
    let t = this.time + elapsed * this.speed;
    if (t >= this.end) {
      if (this.loop) {
        t = this.begin;
      } else {
        t = this.end;
        this.playing = false;
      }
    }
    this.time = t;
    this.onChange();
  }

  seek(t: number): void {
    if (!Number.isFinite(t)) return;
    this.time = Math.min(this.end, Math.max(this.begin, t));
    this.onChange();
  }

  play(on = !this.playing): void {
    if (on && this.time >= this.end - 1e-9 && !this.loop) this.time = this.begin;
    this.playing = on && this.duration > 0;
    this.onChange();
  }

  /** Goes to a frame some places away, counted in the replay with the most frames. */
  stepFrames(by: number): void {
    this.playing = false;
    const clip = this.finest();
    const at = clip.frameAt(this.time);
    const exact = Math.abs(clip.replay.time[at] - this.time) < 1e-9;
    // Between two frames, back means the one just passed.
    const target = at + by + (!exact && by < 0 ? 1 : 0);
    this.seek(clip.replay.time[Math.min(clip.replay.frames - 1, Math.max(0, target))]);
  }

  faster(by: number): void {
    const nearest = speeds.reduce(
      (best, s, i) => (Math.abs(s - this.speed) < Math.abs(speeds[best] - this.speed) ? i : best),
      0,
    );
    this.speed = speeds[Math.min(speeds.length - 1, Math.max(0, nearest + by))];
    this.onChange();
  }

  finest(): Clip {
    return this.clips.reduce((best, clip) => (clip.replay.frames > best.replay.frames ? clip : best));
  }
}
