// Triangles for the kinds of geoms. Kinds that scale share one unit shape, so that they can share one draw call.
import * as THREE from 'three';
import type { Geom, Mesh } from './format';

export interface Shape {
  /** Geoms with the same key are instances of the same triangles. */
  key: string;
  scale: [number, number, number];
  make: () => THREE.BufferGeometry;
}

const upright = (geometry: THREE.BufferGeometry) => geometry.rotateX(Math.PI / 2); // three's axis is y, ours is z

/** Corners of a round shape's circles: many small ones need fewer each. */
export function roundness(geoms: number): number {
  return geoms > 400 ? 16 : geoms > 100 ? 24 : 48;
}

export function shapeOf(geom: Geom, meshes: Mesh[], round: number): Shape {
  const [a = 0.1, b = 0.1, c = 0.1] = geom.size;
  switch (geom.kind) {
    case 'sphere':
      return { key: 'ball', scale: [a, a, a], make: () => ball(round) };
    case 'ellipsoid':
      return { key: 'ball', scale: [a, b, c], make: () => ball(round) };
    case 'box':
      return { key: 'box', scale: [2 * a, 2 * b, 2 * c], make: () => new THREE.BoxGeometry(1, 1, 1) };
    case 'cylinder':
      return {
        key: 'cylinder',
        scale: [a, a, 2 * b],
        make: () => upright(new THREE.CylinderGeometry(1, 1, 1, round)),
      };
    case 'cone':
      return { key: 'cone', scale: [a, a, 2 * b], make: () => upright(new THREE.ConeGeometry(1, 1, round)) };
    case 'capsule': // its caps must stay round: only capsules of one size share triangles
      return {
        key: `capsule ${a} ${b}`,
        scale: [1, 1, 1],
        make: () => upright(new THREE.CapsuleGeometry(a, 2 * b, round / 4, round)),
      };
    case 'mesh':
      return {
        key: `mesh ${geom.mesh}`,
        scale: geom.size.length === 3 ? [a, b, c] : [1, 1, 1],
        make: () => meshGeometry(meshes[geom.mesh!]),
      };
    case 'plane':
      throw new Error('planes are drawn by floor.ts');
    default: // a kind of a later version: show that something is there
      return { key: 'box', scale: [0.1, 0.1, 0.1], make: () => new THREE.BoxGeometry(1, 1, 1) };
  }
}

function ball(round: number): THREE.BufferGeometry {
  return upright(new THREE.SphereGeometry(1, round, round / 2));
}

/** Flat faces where triangles meet at an edge, smooth shading where they bend gently. */
function meshGeometry(mesh: Mesh): THREE.BufferGeometry {
  const { positions, indices } = mesh;
  const triangles = Math.floor(indices.length / 3);
  const faceNormal = new Float32Array(3 * triangles);
  const around = new Map<string, number[]>(); // place -> triangles there; files often repeat vertices per face
  const place = (v: number) => `${positions[3 * v]} ${positions[3 * v + 1]} ${positions[3 * v + 2]}`;
  const a = new THREE.Vector3();
  const b = new THREE.Vector3();
  const c = new THREE.Vector3();
  const places: string[] = Array.from({ length: positions.length / 3 }, (_, v) => place(v));
  for (let t = 0; t < triangles; ++t) {
    a.fromArray(positions, 3 * indices[3 * t]);
    b.fromArray(positions, 3 * indices[3 * t + 1]);
    c.fromArray(positions, 3 * indices[3 * t + 2]);
    b.sub(a)
      .cross(c.sub(a))
      .toArray(faceNormal, 3 * t); // its length weighs by area
    for (let k = 0; k < 3; ++k) {
      const key = places[indices[3 * t + k]];
      const list = around.get(key);
      if (list) list.push(t);
      else around.set(key, [t]);
    }
  }
  const out = new Float32Array(9 * triangles);
  const normals = new Float32Array(9 * triangles);
  const crease = Math.cos((35 * Math.PI) / 180);
  for (let t = 0; t < triangles; ++t) {
    a.fromArray(faceNormal, 3 * t).normalize();
    for (let k = 0; k < 3; ++k) {
      const v = indices[3 * t + k];
      out.set(positions.subarray(3 * v, 3 * v + 3), 9 * t + 3 * k);
      b.set(0, 0, 0);
      for (const other of around.get(places[v])!) {
        c.fromArray(faceNormal, 3 * other);
        if (c.dot(a) >= crease * c.length()) b.add(c);
      }
      b.normalize().toArray(normals, 9 * t + 3 * k);
    }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(out, 3));
  geometry.setAttribute('normal', new THREE.BufferAttribute(normals, 3));
  return geometry;
}

/** Radius of a ball around the geom's origin that holds it; planes have none. */
export function geomRadius(geom: Geom, meshes: Mesh[]): number {
  const [a = 0, b = 0, c = 0] = geom.size;
  switch (geom.kind) {
    case 'sphere':
      return a;
    case 'box':
      return Math.hypot(a, b, c);
    case 'ellipsoid':
      return Math.max(a, b, c);
    case 'capsule':
      return a + b;
    case 'cylinder':
    case 'cone':
      return Math.hypot(a, b);
    case 'mesh': {
      const { positions } = meshes[geom.mesh!];
      const scale = geom.size.length === 3 ? geom.size : [1, 1, 1];
      let far = 0;
      for (let i = 0; i + 2 < positions.length; i += 3)
        far = Math.max(
          far,
          Math.hypot(positions[i] * scale[0], positions[i + 1] * scale[1], positions[i + 2] * scale[2]),
        );
      return far;
    }
    default:
      return 0;
  }
}

// Muted, distinct, and readable in light and dark.
const palette = ['#5b8db8', '#d9a066', '#7fa97f', '#b87a8f', '#8d86b8', '#c9b458', '#6fb0b0', '#c98265', '#93a4b3'];

export function bodyColor(body: number, crowded: boolean): THREE.Color {
  if (body < 0) return new THREE.Color('#b9bec6');
  // In order a few bodies differ from their neighbours; many in rows would make stripes.
  const mixed = crowded ? (Math.imul(body + 1, 2654435761) >>> 16) % 65521 : body;
  return new THREE.Color(palette[mixed % palette.length]);
}
