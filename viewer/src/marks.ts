// Centres of mass and body frames, drawn over the bodies so that they are seen inside them.
import * as THREE from 'three';
import { mergeGeometries } from 'three/addons/utils/BufferGeometryUtils.js';
import type { Replay } from './format';
import { geomRadius } from './shapes';

export class BodyMarks {
  readonly group = new THREE.Group();
  readonly com: THREE.InstancedMesh;
  readonly frames: THREE.InstancedMesh;
  private sizes: Float32Array;

  constructor(
    private replay: Replay,
    size: number,
  ) {
    const count = replay.bodies.length;
    this.sizes = new Float32Array(count).fill(0.01 * size);
    for (const geom of replay.geoms)
      if (geom.body >= 0)
        this.sizes[geom.body] = Math.min(
          0.06 * size,
          Math.max(this.sizes[geom.body], 0.5 * geomRadius(geom, replay.meshes)),
        );
    const over = { depthTest: false, depthWrite: false, transparent: true, vertexColors: true };
    this.com = new THREE.InstancedMesh(quarters(), new THREE.MeshBasicMaterial({ ...over, opacity: 0.95 }), count);
    this.frames = new THREE.InstancedMesh(triad(), new THREE.MeshBasicMaterial({ ...over, opacity: 0.95 }), count);
    for (const mesh of [this.com, this.frames]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 8;
      mesh.visible = false;
      this.group.add(mesh);
    }
  }

  setPose(poses: Float32Array): void {
    if (this.frames.visible) this.place(this.frames, poses, false, 1);
    if (this.com.visible) this.place(this.com, poses, true, 0.22);
  }

  private place(mesh: THREE.InstancedMesh, P: Float32Array, atCom: boolean, scale: number): void {
    const out = mesh.instanceMatrix.array;
    this.replay.bodies.forEach((body, i) => {
      const b = 12 * i;
      const s = scale * this.sizes[i];
      const c = atCom ? (body.com ?? [0, 0, 0]) : [0, 0, 0];
      for (let row = 0; row < 3; ++row) {
        for (let col = 0; col < 3; ++col) out[16 * i + 4 * col + row] = s * P[b + 3 * row + col];
        out[16 * i + 12 + row] =
          P[b + 3 * row] * c[0] + P[b + 3 * row + 1] * c[1] + P[b + 3 * row + 2] * c[2] + P[b + 9 + row];
      }
      out[16 * i + 3] = out[16 * i + 7] = out[16 * i + 11] = 0;
      out[16 * i + 15] = 1;
    });
    mesh.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    for (const mesh of [this.com, this.frames]) {
      mesh.geometry.dispose();
      (mesh.material as THREE.Material).dispose();
      mesh.dispose();
    }
  }
}

function colored(geometry: THREE.BufferGeometry, color: (i: number) => THREE.Color): THREE.BufferGeometry {
  const count = geometry.getAttribute('position').count;
  const colors = new Float32Array(3 * count);
  for (let i = 0; i < count; ++i) color(i).toArray(colors, 3 * i);
  geometry.setAttribute('color', new THREE.BufferAttribute(colors, 3));
  return geometry;
}

/** Red, green and blue arms along x, y and z. */
function triad(): THREE.BufferGeometry {
  const arm = (color: string) => {
    const c = new THREE.Color(color);
    return colored(new THREE.CylinderGeometry(0.035, 0.035, 1, 10).translate(0, 0.5, 0), () => c);
  };
  return mergeGeometries([arm('#d1495b').rotateZ(-Math.PI / 2), arm('#3f9b57'), arm('#3274c4').rotateX(Math.PI / 2)])!;
}

/** The usual sign of a centre of mass: a ball whose eighths alternate in black and white. */
function quarters(): THREE.BufferGeometry {
  const ball = new THREE.SphereGeometry(1, 16, 16).toNonIndexed();
  const at = ball.getAttribute('position');
  const black = new THREE.Color('#16181d');
  const white = new THREE.Color('#ffffff');
  return colored(ball, (i) => {
    const t = 3 * Math.floor(i / 3); // one colour per triangle, by the side its middle is on
    const middle = (k: number) => at.getComponent(t, k) + at.getComponent(t + 1, k) + at.getComponent(t + 2, k);
    return middle(0) * middle(1) * middle(2) > 0 ? black : white;
  });
}
