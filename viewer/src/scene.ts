// The three.js scene of one replay or live world: geoms as instances, floors, lights, centres of mass and frames.
import * as THREE from 'three';
import type { Replay } from './format';
import { Floor, type FloorColors } from './floor';
import { Light } from './light';
import { Outline } from './outline';
import { bodyColor, roundness, shapeOf } from './shapes';
import { BodyMarks } from './marks';

interface Group {
  mesh: THREE.InstancedMesh;
  material: THREE.MeshStandardMaterial;
  shown: 'visual' | 'collision' | 'always';
  geoms: number[];
  alpha: number;
}

export interface Hit {
  body: number;
  geom: number;
  point: THREE.Vector3;
}

export interface Look {
  shapes: 'visual' | 'collision';
  wireframe: boolean;
  translucent: boolean;
  com: boolean;
  frames: boolean;
}

export class SceneView {
  readonly scene = new THREE.Scene();
  readonly marks: BodyMarks;
  /** Rotation (9, row by row) and position (3) of each body. */
  readonly poses: Float32Array;
  readonly up: THREE.Vector3;
  private groups: Group[] = [];
  private floors: { floor: Floor; geom: number }[] = [];
  private local: Float32Array; // the same twelve numbers for each geom in its body, columns scaled
  private light: Light;
  private outline: Outline;
  private selected = -1;

  constructor(
    readonly replay: Replay,
    readonly size: number, // how large the action is [m]; grid, marks and shadows scale with it
    lowest: number,
    private glass: Set<number>, // geoms that would hide what is inside them
  ) {
    this.up = new THREE.Vector3().fromArray(replay.up).normalize();
    this.poses = new Float32Array(12 * replay.bodies.length);
    this.local = new Float32Array(12 * replay.geoms.length);
    this.light = new Light(this.up, size);
    this.outline = new Outline(size);
    this.scene.add(this.light.group, this.outline.group);
    this.addGeoms();
    this.addFloors(lowest);
    this.marks = new BodyMarks(replay, size);
    this.scene.add(this.marks.group);
  }

  private addGeoms(): void {
    const { geoms, meshes } = this.replay;
    const round = roundness(geoms.length);
    const hasVisual = new Set(geoms.filter((g) => g.role !== 'collision').map((g) => g.body));
    const lists = new Map<string, number[]>();
    const matrix = new THREE.Matrix4();
    const q = new THREE.Quaternion();
    geoms.forEach((geom, i) => {
      if (geom.kind === 'plane') return;
      const shape = shapeOf(geom, meshes, round);
      const [w = 1, x = 0, y = 0, z = 0] = geom.quaternion ?? [];
      matrix.compose(
        new THREE.Vector3().fromArray(geom.position ?? [0, 0, 0]),
        q.set(x, y, z, w).normalize(),
        new THREE.Vector3().fromArray(shape.scale),
      );
      writeTwelve(matrix, this.local, 12 * i);
      // A body without visual geoms shows its collision shapes instead of nothing.
      const shown =
        geom.role === 'both' || (geom.role === 'collision' && !hasVisual.has(geom.body)) ? 'always' : geom.role;
      const key = `${shape.key}|${shown}|${Math.min(geom.color?.[3] ?? 1, this.glass.has(i) ? 0.16 : 1)}`;
      const list = lists.get(key);
      if (list) list.push(i);
      else lists.set(key, [i]);
    });
    const triangles = new Map<string, THREE.BufferGeometry>();
    for (const [key, list] of lists) {
      const [shapeKey, shown, alphaText] = key.split('|');
      let geometry = triangles.get(shapeKey);
      if (!geometry) triangles.set(shapeKey, (geometry = shapeOf(geoms[list[0]], meshes, round).make()));
      const alpha = Number(alphaText);
      const material = new THREE.MeshStandardMaterial({ roughness: 0.62, metalness: 0 });
      const mesh = new THREE.InstancedMesh(geometry, material, list.length);
      mesh.castShadow = alpha > 0.3;
      mesh.receiveShadow = true;
      mesh.frustumCulled = false; // its instances move: the sphere three computed once would be wrong
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      list.forEach((i, k) => {
        const c = geoms[i].color;
        mesh.setColorAt(
          k,
          c
            ? new THREE.Color().setRGB(c[0], c[1], c[2], THREE.SRGBColorSpace)
            : bodyColor(geoms[i].body, geoms.length > 400),
        );
      });
      this.groups.push({ mesh, material, shown: shown as Group['shown'], geoms: list, alpha });
      this.scene.add(mesh);
    }
  }

  private addFloors(lowest: number): void {
    const cell = Math.pow(10, Math.round(Math.log10(this.size / 4)));
    this.replay.geoms.forEach((geom, i) => {
      if (geom.kind !== 'plane') return;
      const [w = 1, x = 0, y = 0, z = 0] = geom.quaternion ?? [];
      const frame = new THREE.Matrix4().compose(
        new THREE.Vector3().fromArray(geom.position ?? [0, 0, 0]),
        new THREE.Quaternion(x, y, z, w).normalize(),
        new THREE.Vector3(1, 1, 1),
      );
      writeTwelve(frame, this.local, 12 * i);
      this.floors.push({ floor: new Floor(frame, cell, true), geom: i });
    });
    if (!this.replay.geoms.some((geom) => geom.body < 0)) {
      const frame = new THREE.Matrix4()
        .makeRotationFromQuaternion(new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.up))
        .setPosition(this.up.clone().multiplyScalar(lowest));
      this.floors.push({ floor: new Floor(frame, cell, false), geom: -1 });
    }
    for (const { floor } of this.floors) this.scene.add(floor.mesh);
  }

  paint(floor: FloorColors, dark: boolean): void {
    for (const each of this.floors) each.floor.paint(floor);
    this.light.paint(dark);
    this.outline.paint(dark);
  }

  /** Takes over positions (3 each) and quaternions (w, x, y, z). */
  setPose(p: ArrayLike<number>, q: ArrayLike<number>): void {
    const out = this.poses;
    for (let i = 0, k = 0; i < this.replay.bodies.length; ++i, k += 12) {
      const w = q[4 * i];
      const x = q[4 * i + 1];
      const y = q[4 * i + 2];
      const z = q[4 * i + 3];
      out[k] = 1 - 2 * (y * y + z * z);
      out[k + 1] = 2 * (x * y - w * z);
      out[k + 2] = 2 * (x * z + w * y);
      out[k + 3] = 2 * (x * y + w * z);
      out[k + 4] = 1 - 2 * (x * x + z * z);
      out[k + 5] = 2 * (y * z - w * x);
      out[k + 6] = 2 * (x * z - w * y);
      out[k + 7] = 2 * (y * z + w * x);
      out[k + 8] = 1 - 2 * (x * x + y * y);
      out[k + 9] = p[3 * i];
      out[k + 10] = p[3 * i + 1];
      out[k + 11] = p[3 * i + 2];
    }
    for (const group of this.groups) {
      if (!group.mesh.visible) continue;
      const array = group.mesh.instanceMatrix.array as Float32Array;
      for (let k = 0; k < group.geoms.length; ++k) this.geomMatrix(group.geoms[k], array, 16 * k);
      group.mesh.instanceMatrix.needsUpdate = true;
      group.mesh.boundingSphere = null;
    }
    this.marks.setPose(this.poses);
    this.outline.update((geom, out) => this.geomMatrix(geom, out, 0));
    this.light.moved();
  }

  private geomMatrix(geom: number, out: Float32Array, o: number): void {
    const body = this.replay.geoms[geom].body;
    const l = 12 * geom;
    const L = this.local;
    const P = this.poses;
    const b = 12 * body;
    for (let col = 0; col < 4; ++col) {
      const last = col === 3 ? 1 : 0;
      const x = col < 3 ? L[l + col] : L[l + 9];
      const y = col < 3 ? L[l + 3 + col] : L[l + 10];
      const z = col < 3 ? L[l + 6 + col] : L[l + 11];
      const c = o + 4 * col;
      if (body < 0) {
        out[c] = x;
        out[c + 1] = y;
        out[c + 2] = z;
      } else {
        out[c] = P[b] * x + P[b + 1] * y + P[b + 2] * z + last * P[b + 9];
        out[c + 1] = P[b + 3] * x + P[b + 4] * y + P[b + 5] * z + last * P[b + 10];
        out[c + 2] = P[b + 6] * x + P[b + 7] * y + P[b + 8] * z + last * P[b + 11];
      }
      out[c + 3] = last;
    }
  }

  setLook(look: Look): void {
    for (const { mesh, material, shown, alpha } of this.groups) {
      mesh.visible = shown === 'always' || shown === look.shapes;
      const opacity = look.translucent ? Math.min(alpha, 0.32) : alpha;
      if (material.transparent !== opacity < 1) material.needsUpdate = true;
      material.transparent = opacity < 1;
      material.opacity = opacity;
      material.depthWrite = opacity > 0.9;
      material.wireframe = look.wireframe;
    }
    this.traceSelected();
    this.marks.com.visible = look.com;
    this.marks.frames.visible = look.frames;
  }

  select(body: number): void {
    if (body === this.selected) return;
    this.selected = body;
    this.traceSelected();
  }

  private traceSelected(): void {
    this.outline.clear();
    if (this.selected < 0) return;
    for (const group of this.groups)
      if (group.mesh.visible)
        for (const geom of group.geoms)
          if (this.replay.geoms[geom].body === this.selected) this.outline.add(geom, group.mesh.geometry, this.local);
    this.outline.update((geom, out) => this.geomMatrix(geom, out, 0));
  }

  bodyPosition(body: number, out = new THREE.Vector3()): THREE.Vector3 {
    return out.fromArray(this.poses, 12 * body + 9);
  }

  /** A point given in the body's frame, in the world. */
  toWorld(body: number, local: THREE.Vector3): THREE.Vector3 {
    const P = this.poses.subarray(12 * body, 12 * body + 12);
    const { x, y, z } = local;
    return new THREE.Vector3(
      P[0] * x + P[1] * y + P[2] * z + P[9],
      P[3] * x + P[4] * y + P[5] * z + P[10],
      P[6] * x + P[7] * y + P[8] * z + P[11],
    );
  }

  toLocal(body: number, world: THREE.Vector3): THREE.Vector3 {
    const P = this.poses.subarray(12 * body, 12 * body + 12);
    const x = world.x - P[9];
    const y = world.y - P[10];
    const z = world.z - P[11];
    return new THREE.Vector3(
      P[0] * x + P[3] * y + P[6] * z,
      P[1] * x + P[4] * y + P[7] * z,
      P[2] * x + P[5] * y + P[8] * z,
    );
  }

  pick(ray: THREE.Raycaster): Hit | null {
    const meshes = this.groups.filter((group) => group.mesh.visible);
    const hits = ray.intersectObjects(
      meshes.map((group) => group.mesh),
      false,
    );
    const found = hits.map((hit) => {
      const geom = meshes.find((each) => each.mesh === hit.object)!.geoms[hit.instanceId!];
      return { geom, body: this.replay.geoms[geom].body, point: hit.point };
    });
    return found.find(({ geom }) => !this.glass.has(geom)) ?? found[0] ?? null;
  }

  /** Moves floor and shadows along before a picture is drawn. */
  aim(target: THREE.Vector3, distance: number): void {
    const at = new THREE.Vector3();
    for (const { floor, geom } of this.floors) {
      let frame: THREE.Matrix4 | undefined;
      if (geom >= 0) {
        frame = new THREE.Matrix4();
        this.geomMatrix(geom, frame.elements as unknown as Float32Array, 0);
      }
      floor.follow(target, Math.max(8 * this.size, 5 * distance), frame);
    }
    const ranges = this.replay.bodies.map((_, i) => this.bodyPosition(i, at).distanceTo(target));
    this.light.aim(target, ranges);
  }

  dispose(): void {
    for (const { mesh, material } of this.groups) {
      mesh.geometry.dispose();
      material.dispose();
      mesh.dispose();
    }
    for (const { floor } of this.floors) floor.dispose();
    this.marks.dispose();
    this.light.dispose();
    this.outline.dispose();
  }
}

function writeTwelve(matrix: THREE.Matrix4, out: Float32Array, o: number): void {
  const e = matrix.elements;
  for (let row = 0; row < 3; ++row) {
    for (let col = 0; col < 3; ++col) out[o + 3 * row + col] = e[4 * col + row];
    out[o + 9 + row] = e[12 + row];
  }
}
