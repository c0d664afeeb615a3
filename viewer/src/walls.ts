// Which geoms stand around the action: a box full of balls is drawn as glass, so that one sees the balls.
import * as THREE from 'three';
import type { Clip } from './clip';

const directions = 8;
const samples = 40;

/** Boxes at rest that enclose most of the moving bodies from all sides; none where the action is in the open. */
export function walls(clip: Clip): Set<number> {
  const { replay } = clip;
  const moving = clip.movingBodies();
  const moves = new Set(moving);
  const p = new Float32Array(3 * replay.bodies.length);
  const q = new Float32Array(4 * replay.bodies.length);
  clip.pose(clip.end, p, q);
  const still = replay.geoms.flatMap((geom, i) =>
    geom.kind === 'box' && !moves.has(geom.body)
      ? [{ i, half: geom.size, inverse: frameOf(i, clip, p, q).invert() }]
      : [],
  );
  if (still.length < 3) return new Set();
  const up = new THREE.Vector3().fromArray(replay.up).normalize();
  const aside = new THREE.Vector3(1, 0, 0).addScaledVector(up, -up.x);
  if (aside.length() < 0.1) aside.set(0, 1, 0).addScaledVector(up, -up.y);
  aside.normalize();
  const every = Math.ceil(moving.length / samples);
  const seen = moving.filter((_, k) => k % every === 0);
  const around = new Set<number>();
  let enclosed = 0;
  for (const body of seen) {
    const at = new THREE.Vector3().fromArray(p, 3 * body);
    let stopped = 0;
    for (let k = 0; k < directions; ++k) {
      const along = aside.clone().applyAxisAngle(up, (2 * Math.PI * (k + 0.37)) / directions);
      const hit = still.filter((each) => hits(each, at, along));
      for (const each of hit) around.add(each.i);
      if (hit.length) ++stopped;
    }
    if (stopped === directions) ++enclosed;
  }
  return enclosed > 0.5 * seen.length ? around : new Set();
}

function frameOf(i: number, clip: Clip, p: Float32Array, q: Float32Array): THREE.Matrix4 {
  const geom = clip.replay.geoms[i];
  const one = new THREE.Vector3(1, 1, 1);
  const pose = (at: ArrayLike<number>, turn: ArrayLike<number>) =>
    new THREE.Matrix4().compose(
      new THREE.Vector3(at[0], at[1], at[2]),
      new THREE.Quaternion(turn[1], turn[2], turn[3], turn[0]).normalize(),
      one,
    );
  const local = pose(geom.position ?? [0, 0, 0], geom.quaternion ?? [1, 0, 0, 0]);
  const b = geom.body;
  return b < 0 ? local : pose(p.subarray(3 * b, 3 * b + 3), q.subarray(4 * b, 4 * b + 4)).multiply(local);
}

/** Whether the ray meets the box. */
function hits(box: { half: number[]; inverse: THREE.Matrix4 }, at: THREE.Vector3, along: THREE.Vector3): boolean {
  const from = at.clone().applyMatrix4(box.inverse);
  const to = along.clone().transformDirection(box.inverse);
  const [a, b, c] = box.half;
  const ray = new THREE.Ray(from, to);
  return ray.intersectsBox(new THREE.Box3(new THREE.Vector3(-a, -b, -c), new THREE.Vector3(a, b, c)));
}
